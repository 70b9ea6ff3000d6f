// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

// Before the guard: in header-only mode, a later body includes this header.
#include <reshard/aoa/macro/context.hpp>
#include <reshard/core/vector.hpp>

#ifndef RESHARD_AOA_MACRO_ATTEMPT_HPP
#define RESHARD_AOA_MACRO_ATTEMPT_HPP

#include <reshard/aoa/make_finding.hpp>

#include <cstddef>
#include <string>
#include <utility>

/// \file
/// Turns an error in one statement into a finding, so that the other statements are still expanded.

namespace reshard::aoa {

namespace detail {

/// Whether a broken statement can keep a name. A name with open numbers is recorded as lost.
inline bool keeps(macro_context& context, name const& name, bool is_read) {
    if (name.kind == name::kind_type::pattern &&
        !has_segment(context.code, name, segment::kind_type::anything)) {
        context.lost.push_back({name, is_read});
        if (!is_read)
            context.lost_outlines.insert(outline_of(context.code.pattern(name)));
    }
    return name.kind == name::kind_type::text || name.kind == name::kind_type::fresh;
}

/// Replaces a statement that has an error. The new statement lists the names that it would have
/// read and bound.
inline statement broken(macro_context& context, statement const& current_statement) {
    vector<name> names[2];
    for (std::size_t i = 0; i < current_statement.left + current_statement.right; ++i) {
        name each_name = context.code.names(current_statement)[i];
        each_name.transposed = false;
        if (keeps(context, each_name, i < current_statement.left))
            names[i >= current_statement.left].push_back(each_name);
    }
    statement like = current_statement;
    like.attributes = 0;
    like.origin = context.code.make_origin({{}, 0, current_statement.where, true});
    return context.code.make_statement(names[0], names[1], like);
}

/// Adds an error as a finding.
inline void add_error(macro_context& context, failed_statement const& failure) {
    if (!context.first_error)
        context.first_error = failure.problem.code;
    context.findings.push_back(make_finding(context.code, failure.about, failure.problem));
}

/// Adds an error that belongs to no statement as a finding.
inline void add_error(macro_context& context, error const& problem) {
    if (!context.first_error)
        context.first_error = problem.code();
    context.findings.push_back(
        {severity::error, std::string(reshard::name(problem.code())), {}, problem.what(), {}, 0});
}

/// Runs a step for a statement; returns false if it fails. An error becomes a finding.
///
/// \throws failed_statement with errc::limit_exceeded, which ends the expansion
bool succeeds(macro_context& context, statement const& statement, auto const& step) {
    try {
        step();
        return true;
    } catch (statement_error const& problem) {
        add_error(context, {statement, problem});
    } catch (failed_statement const& failure) {
        if (failure.problem.code == errc::limit_exceeded)
            throw;
        add_error(context, failure);
    } catch (no_value const&) {
    }
    return false;
}

/// Runs a step for a statement. If the step fails, the error becomes a finding, and a broken
/// statement replaces the statement.
///
/// \throws failed_statement with errc::limit_exceeded, which ends the expansion
void attempt(macro_context& context, statement& current_statement, auto const& step) {
    statement const written = current_statement;
    if (!succeeds(context, written, step))
        current_statement = broken(context, written);
}

/// Runs a step that receives the statement and appends the expanded statements to `expanded`. If
/// the step fails, appends a broken statement instead.
void attempt(macro_context& context, statement current_statement, vector<statement>& expanded,
             auto const& step) {
    auto const size = static_cast<std::ptrdiff_t>(expanded.size());
    if (succeeds(context, current_statement, [&] { step(std::as_const(current_statement)); }))
        return;
    expanded.erase(expanded.begin() + size, expanded.end());
    expanded.push_back(broken(context, current_statement));
}

} // namespace detail

/// Applies a macro for one statement to all statements. Statements are copied only if the macro
/// changes one of them.
template <void (*Macro)(macro_context&, statement const&, vector<statement>&)>
void each(macro_context& context, vector<statement>& statements) {
    vector<statement> new_statements, expanded;
    bool is_changed = false;
    for (std::size_t i = 0; i < statements.size(); ++i) {
        new_statements.clear();
        detail::attempt(context, statements[i], new_statements, [&](statement const& statement) {
            Macro(context, statement, new_statements);
        });
        if (!is_changed && new_statements.size() == 1 && new_statements[0] == statements[i])
            continue;
        if (!std::exchange(is_changed, true)) {
            expanded.reserve(statements.size() + new_statements.size());
            expanded.assign(statements.begin(),
                            statements.begin() + static_cast<std::ptrdiff_t>(i));
        }
        expanded.insert(expanded.end(), new_statements.begin(), new_statements.end());
    }
    if (is_changed)
        statements = std::move(expanded);
}

} // namespace reshard::aoa

#endif
