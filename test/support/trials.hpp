// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_TRIALS_HPP
#define RESHARD_TEST_SUPPORT_TRIALS_HPP

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
/// as long, and a tenth goes down every path that there is.
constexpr std::uint64_t trials(std::uint64_t count) { return is_sanitized ? count / 10 : count; }

} // namespace reshard::test

#endif
