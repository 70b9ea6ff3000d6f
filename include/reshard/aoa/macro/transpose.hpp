// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_TRANSPOSE_HPP
#define RESHARD_AOA_MACRO_TRANSPOSE_HPP

#include <reshard/aoa/macro/attempt.hpp>
#include <reshard/aoa/macro/context.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// `a^T -> b` becomes a statement that transposes `a` into a temporary, and one that uses it.

namespace reshard::aoa {

namespace detail {

/// Refuses `_^T`, and `x^T` right of the arrow.
inline void check_transposed(macro_context const& context, statement const& one) {
    for (name const& each_name : context.code.names(one)) {
        if (each_name.transposed && each_name.kind == name::kind_type::nothing)
            fail_in(one, {errc::bad_macro, "'_' has no transpose", each_name.where});
    }
    for (name const& target : context.code.right(one))
        if (target.transposed)
            fail_in(
                one,
                {errc::bad_macro,
                 "'" + std::string(context.code.text(target)) +
                     "^T' stands right of '->'; only what is read can be transposed, left of it",
                 target.where});
}

/// The statements `x -> temporary, permute="[]"`, one for each different `x^T`; replaces `x^T` in
/// `names`.
inline void append_transposes(macro_context& context, statement const& like,
                              std::vector<name>& names, std::vector<statement>& expanded) {
    std::unordered_map<std::uint32_t, name> made;
    for (name& one : names) {
        if (!one.transposed)
            continue;
        auto const [place, is_new] = made.try_emplace(one.id);
        if (is_new) {
            name plain = one;
            plain.transposed = false;
            place->second =
                context.code.make_fresh(context.code.text(one), one.where, "_transpose_tmp");
            expanded.push_back(context.make({&plain, 1}, {&place->second, 1}, like));
        }
        one = place->second;
    }
}

/// Appends a statement, after those that transpose what it reads; `reversed` are their attributes.
inline void expand_transposed(macro_context& context, statement const& one, std::uint32_t reversed,
                              std::vector<statement>& expanded) {
    check_transposed(context, one);
    auto const written = context.code.names(one);
    if (std::ranges::none_of(written, &name::transposed))
        return expanded.push_back(one);
    statement const like = context.derive(one, "^T");
    statement helper = like;
    helper.attributes = reversed;
    std::vector<name> names(written.begin(), written.end());
    append_transposes(context, helper, names, expanded);
    std::span<name const> const all(names);
    expanded.push_back(context.make(all.first(one.left), all.subspan(one.left), like));
}

} // namespace detail

/// Replaces each `x^T` by a temporary, which a statement before it makes of `x` with all axes
/// reversed.
///
/// Finding: errc::bad_macro for `x^T` right of the arrow.
///
/// \throws     failed_statement with errc::limit_exceeded
/// \par Source the transpose macro of AOA (PaddlePaddle flex_checkpoint), which reverses all axes
///             too
inline void expand_transpose(macro_context& context, std::vector<statement>& statements) {
    std::uint32_t const reversed =
        context.code.make_attributes({{"permute", std::string("[]"), '"', {}}});
    std::vector<statement> expanded;
    expanded.reserve(statements.size());
    for (statement const& written : statements)
        attempt(context, written, expanded, [&](statement const& one) {
            detail::expand_transposed(context, one, reversed, expanded);
        });
    statements = std::move(expanded);
}

} // namespace reshard::aoa

#endif
