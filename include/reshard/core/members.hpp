// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_MEMBERS_HPP
#define RESHARD_CORE_MEMBERS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

/// \file
/// A value lists its members once; bytes and digests are derived from the list.
///
/// A type takes part in one of three ways:
///
/// - by a static function `members(self, visit)` that calls `visit` with all members, in their
///   order; `self` may be `const`. Most types are of this kind:
///
///       static constexpr void members(auto& self, auto&& visit) { visit(self.offset, self.shape);
///       }
///
/// - by `recipe()`, a value that it is made of again by its constructor: a class that has worked
///   out other members from those that it was given;
/// - by `push_back` and `operator[]`, if it is a `packed_list` of such values.
///
/// Invalid bytes are refused by `validate(value)`, a function beside the type: it throws an `error`
/// if the invariant of the type does not hold. It is called for each value that was read, a part
/// before the whole, and for recipes before they are used.

namespace reshard::detail {

/// The first `count` of an array, as one member: the elements after them have no meaning.
template <class Array, class Count>
struct array_prefix {
    Array& values;
    Count& count;

    static constexpr std::size_t most = std::extent_v<Array>;
};

template <class Array, class Count>
array_prefix(Array&, Count&) -> array_prefix<Array, Count>;

/// How many values an enumeration has, from 0 on, and what one is called in messages.
struct enum_range {
    std::size_t count = 0;
    std::string_view name;
};

/// To be specialised for enumerations that are members.
template <class Enum>
inline constexpr enum_range range_of_enum{};

/// The name of a value, and its number if it can be written by itself.
struct stored_form {
    std::string_view name;   ///< for messages
    std::uint8_t number = 0; ///< 0: a part of other values, with nothing in front
};

template <class T>
inline constexpr stored_form form_of{"value"};

struct member_ignorer {
    constexpr void operator()(auto const&...) const {}
};

template <class T>
concept listing_members = requires(T& value, member_ignorer visit) { T::members(value, visit); };

template <class T>
concept made_by_recipe = requires(T const& value) { value.recipe(); };

template <class T>
using recipe_of = std::remove_cvref_t<decltype(std::declval<T const&>().recipe())>;

/// A list of values that all have the list's number of axes.
template <class T>
concept packed_list = requires(T& list, T const& value) {
    T(value.ndim());
    list.push_back(value[value.size()]);
    value[value.size()].ndim();
};

template <class T>
concept validated = requires(T const& value) { validate(value); };

/// A class of which bytes and digests can be made.
template <class T>
concept storable = listing_members<std::remove_cv_t<T>> || made_by_recipe<std::remove_cv_t<T>> ||
                   packed_list<std::remove_cv_t<T>>;

/// A value that can be written by itself: its form precedes it.
template <class T>
concept storable_alone = storable<T> && form_of<std::remove_cv_t<T>>.number != 0;

} // namespace reshard::detail

#endif
