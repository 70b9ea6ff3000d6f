// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_MACROS_HPP
#define RESHARD_AOA_MACRO_MACROS_HPP

#include <reshard/aoa/macro/attempt.hpp>
#include <reshard/aoa/macro/context.hpp>
#include <reshard/aoa/macro/fused.hpp>
#include <reshard/aoa/macro/pattern_index.hpp>
#include <reshard/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// All macros, and what is done before and after they are applied.

namespace reshard::aoa::detail {

/// The statements that `expand(i, expanded)` appends for each statement `i`, called in the order in
/// which they run: from the last to the first where the program runs backwards.
std::vector<statement> expand_in_order(macro_context const& context, std::size_t statements,
                                       auto const& expand) {
    std::vector<statement> expanded;
    expanded.reserve(statements);
    for (std::size_t i = 0; i < statements && !context.options.reverse; ++i)
        expand(i, expanded);
    for (std::size_t i = statements; i-- > 0 && context.options.reverse;) {
        auto const first = static_cast<std::ptrdiff_t>(expanded.size());
        expand(i, expanded);
        std::reverse(expanded.begin() + first, expanded.end());
    }
    if (context.options.reverse)
        std::ranges::reverse(expanded);
    return expanded;
}

/// Says that a statement makes the names of an array; too many are the array macro's matter.
inline void add_made_array(macro_context const& context, std::vector<segment> const& segments,
                           pattern_index& index) {
    segment const& range = segments.back();
    bool const few = range.last - range.first <= static_cast<index_t>(context.options.max_names);
    if (segments.size() != 2 || segments[0].kind != segment::kind_type::text || !few)
        return;
    for (index_t i = range.first; i < range.last; ++i)
        index.add_made(segments[0].text + '_' + std::to_string(i));
}

/// Tells an index which names a statement makes: those on the right or, where the program runs
/// backwards, on the left.
inline void add_made(macro_context const& context, statement const& one, pattern_index& index) {
    if (!index.has_open())
        return;
    program const& code = context.code;
    for (name const& made : context.options.reverse ? code.left(one) : code.right(one))
        if (made.kind == name::kind_type::text)
            index.add_made(code.text(made));
        else if (has_segment(code, made, segment::kind_type::array))
            add_made_array(context, code.pattern(made), index);
}

/// `an earlier statement`: what makes names that a statement may read.
inline std::string maker_text(macro_context const& context) {
    return context.options.reverse ? "a later statement" : "an earlier statement";
}

/// Replaces each statement with placeholders by one for each combination of numbers that exists.
///
/// The first name with a placeholder decides: it is matched against the parameter keys of the
/// source and, if it is none of them, against the names that earlier statements make; where a
/// statement adds, against those of the target. The order is by ascending numbers, those of the
/// placeholder that is first in the alphabet first.
///
/// Findings: errc::bad_macro when names do not have the same placeholders, when the deciding name
/// has one twice, or when a number becomes negative; no match, as the options say.
///
/// \throws     failed_statement with errc::limit_exceeded
/// \par Source the id macro of AOA (PaddlePaddle flex_checkpoint); there `$LAYER_ID` and
///             `$EXPERT_ID` only, all combinations whether they exist or not, keys of the source
///             alone, and no word where nothing matches
RESHARD_DECL void expand_placeholders(macro_context& context, std::vector<statement>& statements);

/// Replaces each `x^T` by a temporary, which a statement before it makes of `x` with all axes
/// reversed.
///
/// Finding: errc::bad_macro for `x^T` right of the arrow.
///
/// \throws     failed_statement with errc::limit_exceeded
/// \par Source the transpose macro of AOA (PaddlePaddle flex_checkpoint), which reverses all axes
///             too
RESHARD_DECL void expand_transpose(macro_context& context, std::vector<statement>& statements);

/// Replaces each name with `[a:b]` by the names with `_a`, ..., `_(b-1)` behind them.
///
/// \throws     failed_statement with errc::bad_macro for a range without numbers
/// \par Source the array macro of AOA (PaddlePaddle flex_checkpoint); there such a range deletes
///             the name
RESHARD_DECL void expand_array(macro_context& context, statement const& one,
                               std::vector<statement>& expanded);

/// Replaces each name with `*` by the keys that equal it with a number for `*`, in numeric order:
/// keys of the source left of the arrow or, where none matches, names that earlier statements make;
/// keys of the target right of it. `e.*.w -> _` removes each of them, `_ -> e.*.w` adds each.
///
/// Findings: errc::bad_macro for two stars, a star with `^T`, or one on the right without a target;
/// errc::unknown_key when nothing matches.
///
/// \throws     failed_statement with errc::limit_exceeded
/// \par Source the star macro of AOA (PaddlePaddle flex_checkpoint); there keys of the source alone
RESHARD_DECL void expand_star(macro_context& context, std::vector<statement>& statements);

} // namespace reshard::aoa::detail

namespace reshard::aoa {

/// A macro: what it is called, and what it does to all statements of a program.
struct macro {
    std::string_view name;
    void (*expand)(macro_context&, std::vector<statement>&);
    bool needs_chain = false; ///< asks how a tensor is cut
};

/// All macros, in the order in which each is applied to everything that the one before it made.
///
/// \par Source the order of AOA (PaddlePaddle flex_checkpoint), 3.1 of its description; the layer
///             offset and the ids are one macro here
inline constexpr macro macros[] = {
    {"$NAME", detail::expand_placeholders},
    {"[a:b]", each<detail::expand_array>},
    {"*", detail::expand_star},
    {"^T", detail::expand_transpose},
    {"fused_qkv_old", each<detail::expand_fused_qkv_old>, true},
    {"fused_ffn", each<detail::expand_fused_ffn>, true},
    {"fused_qkv", each<detail::expand_fused_qkv>, true},
};

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/macros.ipp>
#include <reshard/aoa/macro/impl/placeholder.ipp>
#endif

#endif
