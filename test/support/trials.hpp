// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_TRIALS_HPP
#define RESHARD_TEST_SUPPORT_TRIALS_HPP

#include <algorithm>
#include <cstdint>

/// \file
/// How often a property is tried.

namespace reshard::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
inline constexpr bool is_sanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool is_sanitized = false;
#endif

/// The number of trials out of that of a build without sanitizers: with them, each takes ten times
/// as long. The law is guarded if there are none, by all trials; a twentieth, and at least some,
/// shows what is wrong with memory.
constexpr std::uint64_t trials(std::uint64_t count, std::uint64_t least = 1) {
    return is_sanitized ? std::max(count / 20, std::min(count, least)) : count;
}

} // namespace reshard::test

#endif
