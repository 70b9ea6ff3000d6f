// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_AOA_PATTERNS_HPP
#define RESHARD_TEST_AOA_PATTERNS_HPP

#include "aoa/language.hpp"

#include <reshard/aoa/macro/make_key_pattern.hpp>

#include <cstddef>
#include <optional>
#include <string>

/// \file
/// Names with open numbers, as tests write them.

namespace reshard::test {

using namespace reshard::detail;

/// The pattern of a name in which each placeholder is captured, in their order.
inline aoa::detail::key_pattern pattern(std::string const& text) {
    aoa::program const code = parsed(text + " -> target");
    std::size_t next = 0;
    return aoa::detail::make_key_pattern(
        code.pattern(code.left(code.statements()[0])[0]),
        [&](aoa::segment const& segment) -> std::optional<std::size_t> {
            if (segment.kind != aoa::segment::kind_type::placeholder)
                return std::nullopt;
            return next++;
        });
}

} // namespace reshard::test

#endif
