// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_ARRAY_IPP
#define RESHARD_AOA_MACRO_IMPL_ARRAY_IPP

#include <reshard/aoa/macro/array.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::aoa::detail {

RESHARD_DECL name make_name(program& code, std::vector<segment> segments, name const& like) {
    bool const text = segments.size() == 1 && segments[0].kind == segment::kind_type::text;
    name made = text ? code.make_text(segments[0].text, like.where)
                     : code.make_pattern(std::move(segments), like.where);
    made.transposed = like.transposed;
    return made;
}

/// Puts a text behind the last segment of a name.
inline void append_text(std::vector<segment>& segments, std::string_view text) {
    if (segments.empty() || segments.back().kind != segment::kind_type::text)
        segments.push_back({});
    segments.back().text += text;
}

/// Appends the names that stand for `array`.
///
/// \throws failed_statement with errc::bad_macro for a range without numbers
inline void append_array(macro_context& context, statement const& one, name const& array,
                         std::vector<name>& names) {
    std::vector<segment> segments = context.code.pattern(array);
    segment const range = segments.back();
    segments.pop_back();
    if (range.last <= range.first)
        fail_in(one, {errc::bad_macro,
                      "the range [" + std::to_string(range.first) + ':' +
                          std::to_string(range.last) + "] is empty; its upper bound is exclusive",
                      array.where});
    auto const count = static_cast<std::size_t>(range.last - range.first);
    context.spend(one, context.names, count);
    context.spend(one, context.characters, count * name_length(context.code, array));
    for (index_t i = range.first; i < range.last; ++i) {
        std::vector<segment> element = segments;
        append_text(element, '_' + std::to_string(i));
        names.push_back(make_name(context.code, std::move(element), array));
    }
}

RESHARD_DECL void expand_array(macro_context& context, statement const& one,
                               std::vector<statement>& expanded) {
    if (!has_segment(context.code, one, segment::kind_type::array))
        return expanded.push_back(one);
    std::vector<name> names;
    std::size_t left = 0;
    for (std::size_t i = 0; i < one.left + one.right; ++i) {
        name const each_name = context.code.names(one)[i];
        if (has_segment(context.code, each_name, segment::kind_type::array))
            append_array(context, one, each_name, names);
        else
            names.push_back(each_name);
        if (i + 1 == one.left)
            left = names.size();
    }
    std::span<name const> const all(names);
    expanded.push_back(
        context.make(all.first(left), all.subspan(left), context.derive(one, "[a:b]")));
}

} // namespace reshard::aoa::detail

#endif
