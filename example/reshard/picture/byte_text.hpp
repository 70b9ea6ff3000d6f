// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PICTURE_BYTE_TEXT_HPP
#define RESHARD_TOOL_PICTURE_BYTE_TEXT_HPP

#include <reshard/core/index_vector.hpp>

#include <charconv>
#include <cstddef>
#include <string>

/// \file
/// Prints numbers of bytes for people.

namespace reshard {

/// For example `1.5 GB`: three digits, powers of 1000.
inline std::string byte_text(index_t bytes) {
    constexpr char const* units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    if (bytes < 1000)
        return std::to_string(bytes) + " B";
    double value = static_cast<double>(bytes) / 1000;
    std::size_t unit = 0;
    for (; value >= 999.5; ++unit)
        value /= 1000;
    char digits[32];
    auto const end =
        std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 3).ptr;
    return std::string(digits, end) + " " + units[unit];
}

} // namespace reshard

#endif
