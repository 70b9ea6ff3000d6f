// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_RUNNING_ORDER_IPP
#define RESHARD_AOA_MACRO_IMPL_RUNNING_ORDER_IPP

#include <reshard/aoa/macro/running_order.hpp>

namespace reshard::aoa::detail {

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

RESHARD_DECL void add_made(macro_context const& context, statement const& one,
                           pattern_index& index) {
    if (!index.has_open())
        return;
    program const& code = context.code;
    for (name const& made : context.options.reverse ? code.left(one) : code.right(one))
        if (made.kind == name::kind_type::text)
            index.add_made(code.text(made));
        else if (has_segment(code, made, segment::kind_type::array))
            add_made_array(context, code.pattern(made), index);
}

RESHARD_DECL std::string maker_text(macro_context const& context) {
    return context.options.reverse ? "a later statement" : "an earlier statement";
}

} // namespace reshard::aoa::detail

#endif
