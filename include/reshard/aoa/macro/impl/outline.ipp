// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_OUTLINE_IPP
#define RESHARD_AOA_MACRO_IMPL_OUTLINE_IPP

#include <reshard/aoa/macro/outline.hpp>

#include <reshard/aoa/macro/digits.hpp>

#include <cstddef>

namespace reshard::aoa::detail {

RESHARD_DECL void append_outline(std::string& outline, std::string_view text) {
    for (std::size_t at = 0; at < text.size(); at += digits_at(text, at)) {
        std::size_t const digit = next_digit(text, at);
        outline += text.substr(at, digit - at);
        at = digit;
        if (at < text.size() && !outline.ends_with('0'))
            outline += '0';
    }
}

RESHARD_DECL std::string outline_of(std::vector<segment> const& segments) {
    std::string outline;
    for (segment const& one : segments)
        append_outline(outline, one.kind == segment::kind_type::text    ? one.text
                                : one.kind == segment::kind_type::array ? "_0"
                                                                        : "0");
    return outline;
}

} // namespace reshard::aoa::detail

#endif
