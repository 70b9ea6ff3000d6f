// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_OUTLINE_HPP
#define RESHARD_AOA_MACRO_OUTLINE_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/aoa/macro/digits.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Keys without their numbers: what a name with open numbers and the keys that it means have in
/// common.

namespace reshard::aoa::detail {

/// A key with each run of digits replaced by one `0`.
inline void append_outline(std::string& outline, std::string_view text) {
    for (std::size_t at = 0; at < text.size(); at += digits_at(text, at)) {
        std::size_t const digit = next_digit(text, at);
        outline += text.substr(at, digit - at);
        at = digit;
        if (at < text.size() && !outline.ends_with('0'))
            outline += '0';
    }
}

/// The outline of all keys that a name with open numbers may mean.
inline std::string outline_of(std::vector<segment> const& segments) {
    std::string outline;
    for (segment const& one : segments)
        append_outline(outline, one.kind == segment::kind_type::text    ? one.text
                                : one.kind == segment::kind_type::array ? "_0"
                                                                        : "0");
    return outline;
}

} // namespace reshard::aoa::detail

#endif
