// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_FIXED_STRING_HPP
#define RESHARD_CORE_FIXED_STRING_HPP

#include <algorithm>
#include <compare>
#include <cstddef>
#include <string_view>

/// \file
/// A text that may be a template argument: the key of a tensor as part of a type.

namespace reshard::detail {

/// `N - 1` characters and a terminating zero, from a string literal.
template <std::size_t N>
struct fixed_string {
    char characters[N] = {};

    constexpr fixed_string(char const (&text)[N]) { std::copy_n(text, N, characters); }

    /// The text without the terminating zero.
    constexpr std::string_view view() const { return {characters, N - 1}; }
    constexpr operator std::string_view() const { return view(); }

    constexpr auto operator<=>(fixed_string const&) const = default;
};

/// Equal texts, whatever their lengths as types.
template <std::size_t N, std::size_t M>
constexpr bool operator==(fixed_string<N> const& a, fixed_string<M> const& b) {
    return a.view() == b.view();
}

} // namespace reshard::detail

#endif
