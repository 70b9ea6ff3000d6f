// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_MEMBERS_HPP
#define RESHARD_CORE_MEMBERS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

/// \file
/// A type lists its members once; bytes and digests are derived from the list.
///
/// A type lists its members in one of three ways:
///
/// - by a static function `members(self, visit)` that calls `visit` with all members in order;
///   `self` may be `const`. Most types do this:
///
///       static constexpr void members(auto& self, auto&& visit) { visit(self.offset, self.shape);
///       }
///
/// - by a function `recipe()`, which returns the value from which the constructor makes the object:
///   for a class that derives some members from its arguments;
/// - by `push_back` and `operator[]`, if it is a `packed_list` of such values.
///
/// A function `validate(value)` next to the type refuses invalid bytes: it throws an `error` if the
/// invariant of the type does not hold. It is called for each value that was read: first for the
/// members, then for the value. A recipe is validated before the constructor uses it.

namespace reshard::detail {

/// The first `count` elements of an array as one member. The elements after them have no meaning.
template <class Array, class Count>
struct array_prefix {
    Array& values;
    Count& count;

    static constexpr std::size_t most = std::extent_v<Array>;
};

template <class Array, class Count>
array_prefix(Array&, Count&) -> array_prefix<Array, Count>;

/// The number of values of an enumeration, which begin at 0, and the enumeration's name in
/// messages.
struct enum_range {
    std::size_t count = 0;
    std::string_view name;
};

/// Specialised for enumerations that are members of storable types.
template <class Enum>
inline constexpr enum_range range_of_enum{};

/// The name of a type, and a number if values of the type can be written on their own.
struct stored_form {
    std::string_view name;   ///< for messages
    std::uint8_t number = 0; ///< 0: only written as a part of other values
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

/// A list of values that all have the list's number of axes (`ndim`).
template <class T>
concept packed_list = requires(T& list, T const& value) {
    T(value.ndim());
    list.push_back(value[value.size()]);
    value[value.size()].ndim();
};

template <class T>
concept validated = requires(T const& value) { validate(value); };

/// A class whose values can be written as bytes and have a digest.
template <class T>
concept storable = listing_members<std::remove_cv_t<T>> || made_by_recipe<std::remove_cv_t<T>> ||
                   packed_list<std::remove_cv_t<T>>;

/// A type whose values can be written on their own. The number of its form precedes the value.
template <class T>
concept storable_alone = storable<T> && form_of<std::remove_cv_t<T>>.number != 0;

} // namespace reshard::detail

#endif
