// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_RUNNING_ORDER_HPP
#define RESHARD_AOA_MACRO_RUNNING_ORDER_HPP

#include <reshard/aoa/macro/context.hpp>
#include <reshard/aoa/macro/pattern_index.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

/// \file
/// For macros that see what earlier statements make: statements in the order in which they run.

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

} // namespace reshard::aoa::detail

#endif
