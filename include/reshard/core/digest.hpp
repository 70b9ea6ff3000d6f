// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_DIGEST_HPP
#define RESHARD_CORE_DIGEST_HPP

#include <reshard/core/hasher.hpp>
#include <reshard/core/members.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

/// \file
/// A number that stands for a value: ranks compare it before they act.

namespace reshard::detail {

template <class T>
concept numeral = std::integral<T> || std::is_enum_v<T>;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
inline constexpr bool is_variant = false;
template <class... T>
inline constexpr bool is_variant<std::variant<T...>> = true;

template <class T>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;

template <class T>
inline constexpr bool is_array_prefix = false;
template <class Array, class Count>
inline constexpr bool is_array_prefix<array_prefix<Array, Count>> = true;

/// Adds all that a value says: how many elements, whether there is one, and each member.
template <class T>
constexpr void add_value(hasher& digest, T const& value) {
    if constexpr (numeral<T>) {
        digest.add(static_cast<std::uint64_t>(value));
    } else if constexpr (std::convertible_to<T const&, std::string_view>) {
        digest.add(std::string_view(value));
    } else if constexpr (is_optional<T>) {
        digest.add(std::uint64_t{value.has_value()});
        if (value)
            add_value(digest, *value);
    } else if constexpr (is_variant<T>) {
        digest.add(static_cast<std::uint64_t>(value.index()));
        std::visit([&](auto const& held) { add_value(digest, held); }, value);
    } else if constexpr (is_array_prefix<T>) {
        digest.add(static_cast<std::uint64_t>(value.count));
        for (std::size_t i = 0; i < value.count; ++i)
            add_value(digest, value.values[i]);
    } else if constexpr (is_pair<T>) {
        add_value(digest, value.first);
        add_value(digest, value.second);
    } else if constexpr (listing_members<T>) {
        T::members(value, [&](auto const&... members) { (add_value(digest, members), ...); });
    } else if constexpr (made_by_recipe<T>) {
        add_value(digest, value.recipe());
    } else if constexpr (packed_list<T>) {
        digest.add(static_cast<std::uint64_t>(value.size()));
        for (std::size_t i = 0; i < value.size(); ++i)
            add_value(digest, value[i]);
    } else {
        static_assert(std::ranges::sized_range<T const>, "the type does not list its members");
        digest.add(static_cast<std::uint64_t>(std::ranges::size(value)));
        for (auto const& element : value)
            add_value(digest, element);
    }
}

/// A digest of all members of a value; equal values have equal digests on every machine.
template <storable T>
constexpr std::uint64_t digest_of(T const& value) {
    hasher digest;
    add_value(digest, value);
    return digest.value();
}

} // namespace reshard::detail

#endif
