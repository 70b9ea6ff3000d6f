// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_LIST_TEXT_IPP
#define RESHARD_AOA_IMPL_LIST_TEXT_IPP

#include <reshard/aoa/operation.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/words.hpp>

#include <string>
#include <string_view>
#include <variant>

namespace reshard::aoa::detail {

/// Parses the list in the text of an attribute.
///
/// \throws statement_error with errc::syntax for another text. It says that a list of `entries` is
///         expected, and shows `example`.
template <class Entry, class TakeEntry>
vector<Entry> list_of(attribute const& of, TakeEntry const& take_entry, std::string_view entries,
                      std::string_view example) {
    auto const& text = std::get<std::string>(of.value);
    vector<Entry> list;
    if (read_list(text, take_entry, list))
        return list;
    throw statement_error{errc::syntax,
                          words(of.word, "=\"", text, "\" is not a list of ", entries,
                                " in brackets, as in ", of.word, "=\"", example, '"'),
                          of.where};
}

RESHARD_DECL vector<index_t> parse_list(attribute const& of) {
    return list_of<index_t>(of, take_integer, "integers", "[1, 0]");
}

RESHARD_DECL vector<std::optional<index_t>> parse_extents(attribute const& of) {
    return list_of<std::optional<index_t>>(of, take_extent, "extents", "[128, *]");
}

RESHARD_DECL vector<axis_range> parse_ranges(attribute const& of) {
    auto const take_range = [](std::string_view& text) {
        axis_range range{take_integer(text).value_or(0), {}};
        bool const is_range = take(text, ':');
        skip_blanks(text);
        range.last = take_integer(text);
        return is_range ? std::optional(range) : std::nullopt;
    };
    return list_of<axis_range>(of, take_range, "ranges", "[0:128, :]");
}

} // namespace reshard::aoa::detail

#endif
