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
/// - by `recipe()`, a value from which its constructor can make it again: for a class that derives
///   some members from its arguments;
/// - by `push_back` and `operator[]`, if it is a `packed_list` of such values.
///
/// Invalid bytes are refused by `validate(value)`, a function beside the type: it throws an `error`
/// if the invariant of the type does not hold. It is called for each value that was read: for
/// members before the value itself, and for recipes before they are used.

namespace reshard::detail {

/// The first `count` elements of an array as one member; the elements after them have no meaning.
template <class Array, class Count>
struct array_prefix {
    Array& values;
    Count& count;

    static constexpr std::size_t most = std::extent_v<Array>;
};

template <class Array, class Count>
array_prefix(Array&, Count&) -> array_prefix<Array, Count>;

/// The number of values of an enumeration, which count from 0, and its name in messages.
struct enum_range {
    std::size_t count = 0;
    std::string_view name;
};

/// Specialised for enumerations that are members.
template <class Enum>
inline constexpr enum_range range_of_enum{};

/// The name of a type, and its number if its values can be written separately.
struct stored_form {
    std::string_view name;   ///< for messages
    std::uint8_t number = 0; ///< 0: a part of other values, without a form in front
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

/// A class that can be written as bytes and has a digest.
template <class T>
concept storable = listing_members<std::remove_cv_t<T>> || made_by_recipe<std::remove_cv_t<T>> ||
                   packed_list<std::remove_cv_t<T>>;

/// A type whose values can be written separately: the form precedes the value.
template <class T>
concept storable_alone = storable<T> && form_of<std::remove_cv_t<T>>.number != 0;

} // namespace reshard::detail

#endif
