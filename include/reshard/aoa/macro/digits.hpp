// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_DIGITS_HPP
#define RESHARD_AOA_MACRO_DIGITS_HPP

#include <cstddef>
#include <string_view>

/// \file
/// Runs of digits in keys.

namespace reshard::aoa::detail {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// How many digits stand in a row from `at` on.
constexpr std::size_t digits_at(std::string_view text, std::size_t at) {
    std::size_t last = at;
    while (last < text.size() && is_digit(text[last]))
        ++last;
    return last - at;
}

/// The place of the first digit from `at` on, or the end.
constexpr std::size_t next_digit(std::string_view text, std::size_t at) {
    while (at < text.size() && !is_digit(text[at]))
        ++at;
    return at;
}

} // namespace reshard::aoa::detail

#endif
