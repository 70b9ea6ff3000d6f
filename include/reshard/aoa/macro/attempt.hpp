// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

// Before the guard: in header-only mode, a later body includes this header.
#include <reshard/aoa/macro/context.hpp>

#ifndef RESHARD_AOA_MACRO_ATTEMPT_HPP
#define RESHARD_AOA_MACRO_ATTEMPT_HPP

#include <reshard/aoa/make_finding.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

/// \file
/// An error in one statement is a finding, and the others are expanded all the same.

namespace reshard::aoa {

namespace detail {

/// Whether a statement can still say of a name that it has no value; one with open numbers is lost.
inline bool keeps(macro_context& context, name const& one, bool is_read) {
    if (one.kind == name::kind_type::pattern) {
        context.lost.push_back({one, is_read});
        if (!is_read)
            context.lost_outlines.insert(outline_of(context.code.pattern(one)));
    }
    return one.kind == name::kind_type::text || one.kind == name::kind_type::fresh;
}

/// The remains of a statement that has an error: the names that it would have read and bound.
inline statement broken(macro_context& context, statement const& one) {
    std::vector<name> names[2];
    for (std::size_t i = 0; i < one.left + one.right; ++i) {
        name each_name = context.code.names(one)[i];
        each_name.transposed = false;
        if (keeps(context, each_name, i < one.left))
            names[i >= one.left].push_back(each_name);
    }
    statement like = one;
    like.attributes = 0;
    like.origin = context.code.make_origin({{}, 0, one.where, true});
    return context.code.make_statement(names[0], names[1], like);
}

/// Adds the finding that an error is.
inline void add_error(macro_context& context, failed_statement const& failure) {
    if (!context.first_error)
        context.first_error = failure.problem.code;
    context.findings.push_back(make_finding(context.code, failure.about, failure.problem));
}

/// The same for an error that belongs to no statement.
inline void add_error(macro_context& context, error const& problem) {
    if (!context.first_error)
        context.first_error = problem.code();
    context.findings.push_back(
        {severity::error, std::string(reshard::name(problem.code())), {}, problem.what(), {}, 0});
}

/// Runs a step for a statement; whether that went well. An error is a finding.
///
/// \throws failed_statement with errc::limit_exceeded, which ends the expansion
bool succeeds(macro_context& context, statement const& one, auto const& step) {
    try {
        step();
        return true;
    } catch (statement_error const& problem) {
        add_error(context, {one, problem});
    } catch (failed_statement const& failure) {
        if (failure.problem.code == errc::limit_exceeded)
            throw;
        add_error(context, failure);
    } catch (no_value const&) {
    }
    return false;
}

/// Runs a step for a statement; an error becomes a finding, and the statement is broken.
///
/// \throws failed_statement with errc::limit_exceeded, which ends the expansion
void attempt(macro_context& context, statement& one, auto const& step) {
    statement const written = one;
    if (!succeeds(context, written, step))
        one = broken(context, written);
}

/// The same for a step that is given the statement and appends to `expanded` what becomes of it.
void attempt(macro_context& context, statement one, std::vector<statement>& expanded,
             auto const& step) {
    auto const size = static_cast<std::ptrdiff_t>(expanded.size());
    if (succeeds(context, one, [&] { step(std::as_const(one)); }))
        return;
    expanded.erase(expanded.begin() + size, expanded.end());
    expanded.push_back(broken(context, one));
}

} // namespace detail

/// Turns a macro for one statement into a macro for all. If it changes none of them, nothing is
/// copied.
template <void (*Macro)(macro_context&, statement const&, std::vector<statement>&)>
void each(macro_context& context, std::vector<statement>& statements) {
    std::vector<statement> made, expanded;
    bool is_changed = false;
    for (std::size_t i = 0; i < statements.size(); ++i) {
        made.clear();
        detail::attempt(context, statements[i], made,
                        [&](statement const& one) { Macro(context, one, made); });
        if (!is_changed && made.size() == 1 && made[0] == statements[i])
            continue;
        if (!std::exchange(is_changed, true)) {
            expanded.reserve(statements.size() + made.size());
            expanded.assign(statements.begin(),
                            statements.begin() + static_cast<std::ptrdiff_t>(i));
        }
        expanded.insert(expanded.end(), made.begin(), made.end());
    }
    if (is_changed)
        statements = std::move(expanded);
}

} // namespace reshard::aoa

#endif
