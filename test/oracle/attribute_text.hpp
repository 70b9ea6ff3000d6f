// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_ATTRIBUTE_TEXT_HPP
#define RESHARD_TEST_ORACLE_ATTRIBUTE_TEXT_HPP

#include "array.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The effect of slices, reshapes and resizes, given as text, on an array.

namespace reshard::oracle {

using namespace reshard::detail;

/// The parts between the brackets and commas of `"[0:2, *]"`, without blanks.
inline std::vector<std::string> entries_in(std::string const& text) {
    std::vector<std::string> entries;
    std::string entry;
    for (char const c : text)
        if (c == ',' || (c == ']' && !entry.empty()))
            entries.push_back(std::exchange(entry, {}));
        else if (c != '[' && c != ']' && c != ' ')
            entry += c;
    return entries;
}

/// The box that `"[0:2, :]"` says, an entry an axis.
inline array sliced(array const& value, std::string const& text) {
    numbers offset, shape;
    for (std::string const& entry : entries_in(text)) {
        std::size_t const colon = entry.find(':');
        std::string const last = entry.substr(colon + 1);
        offset.push_back(colon == 0 ? 0 : std::stoll(entry.substr(0, colon)));
        shape.push_back((last.empty() ? value.shape.at(shape.size()) : std::stoll(last)) -
                        offset.back());
    }
    return box_of(value, offset, shape);
}

/// The same elements in their order; `*` is the rest.
inline array reshaped(array value, std::vector<std::string> const& extents) {
    std::int64_t said = 1;
    for (std::string const& entry : extents)
        said *= entry == "*" ? 1 : std::stoll(entry);
    std::int64_t const count = count_of(value.shape);
    value.shape.clear();
    for (std::string const& entry : extents)
        value.shape.push_back(entry == "*" ? count / said : std::stoll(entry));
    return value;
}

/// Elements beyond the old extents are 0; `*` keeps an extent.
inline array resized(array const& value, std::vector<std::string> const& extents) {
    numbers shape;
    for (std::string const& entry : extents)
        shape.push_back(entry == "*" ? value.shape.at(shape.size()) : std::stoll(entry));
    return make_array(shape, value.dtype, [&](numbers const& index) {
        for (std::size_t axis = 0; axis < index.size(); ++axis)
            if (index[axis] >= value.shape[axis])
                return std::int64_t{0};
        return at(value, index);
    });
}

} // namespace reshard::oracle

#endif
