// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PICTURE_DURATION_TEXT_HPP
#define RESHARD_TOOL_PICTURE_DURATION_TEXT_HPP

#include <cstddef>
#include <cstdio>
#include <string>

/// \file
/// Prints durations for people.

namespace reshard {

/// For example `1.5 us` or `12.3 ms`: three digits.
inline std::string duration_text(double seconds) {
    constexpr char const* units[] = {"s", "ms", "us", "ns"};
    std::size_t unit = 0;
    for (; unit < 3 && seconds > 0 && seconds < 0.9995; ++unit)
        seconds *= 1000;
    char text[32];
    std::snprintf(text, sizeof text, seconds < 999.5 ? "%.3g" : "%.0f", seconds);
    return std::string(text) + " " + units[unit];
}

} // namespace reshard

#endif
