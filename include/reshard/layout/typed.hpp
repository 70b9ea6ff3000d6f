// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_TYPED_HPP
#define RESHARD_LAYOUT_TYPED_HPP

#include <reshard/layout/descriptor.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// \file
/// Shards and state dicts as types: what contradicts itself does not compile.

namespace reshard::detail {

/// `N - 1` characters and a terminating zero, from a string literal.
template <std::size_t N>
struct fixed_string {
    char characters[N] = {};

    constexpr fixed_string() = default;
    constexpr fixed_string(char const (&text)[N]) { put(0, text, N); }

    /// Writes `count` characters at an index; a plain loop, which compilers run fastest.
    constexpr void put(std::size_t index, char const* text, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            characters[index + i] = text[i];
    }

    /// The text without the terminating zero.
    constexpr std::string_view view() const { return {characters, N - 1}; }
    constexpr operator std::string_view() const { return view(); }

    constexpr auto operator<=>(fixed_string const&) const = default;
};

/// Compares texts, also of different lengths as types.
template <std::size_t N, std::size_t M>
constexpr bool operator==(fixed_string<N> const& a, fixed_string<M> const& b) {
    return a.view() == b.view();
}

/// One text after the other.
template <std::size_t N, std::size_t M>
constexpr fixed_string<N + M - 1> operator+(fixed_string<N> const& a, fixed_string<M> const& b) {
    fixed_string<N + M - 1> joined;
    joined.put(0, a.characters, N - 1);
    joined.put(N - 1, b.characters, M);
    return joined;
}

template <std::size_t N, std::size_t M>
constexpr fixed_string<N + M - 1> operator+(fixed_string<N> const& a, char const (&b)[M]) {
    return a + fixed_string<M>(b);
}

/// The number of digits of a number.
constexpr std::size_t digit_count(std::size_t number) {
    std::size_t digits = 1;
    while (number /= 10)
        ++digits;
    return digits;
}

template <std::size_t Number>
constexpr auto digits_of() {
    char digits[digit_count(Number) + 1] = {};
    std::size_t remainder = Number;
    for (std::size_t index = digit_count(Number); index-- > 0; remainder /= 10)
        digits[index] = static_cast<char>('0' + remainder % 10);
    return fixed_string<sizeof(digits)>(digits);
}

/// A type with a data type as its `value`, such as `data_type_constant`.
template <class T>
concept names_data_type = requires {
    { T::value } -> std::convertible_to<data_type>;
};

/// A type that a typed shard may have as its element type.
template <class T>
concept has_data_type =
    names_data_type<T> || requires { data_type_traits<std::remove_cv_t<T>>::value; };

/// The data type that a `T` names.
template <has_data_type T>
consteval data_type named_data_type() {
    if constexpr (names_data_type<T>)
        return T::value;
    else
        return data_type_of<T>;
}

/// True if no extent is negative and the number of elements fits 64 bits.
constexpr bool is_shape(index_vector const& shape) {
    index_t product = 1;
    for (index_t const extent : shape) {
        if (extent < 0)
            return false;
        if (extent != 0 && product > std::numeric_limits<index_t>::max() / extent)
            return std::find(shape.begin(), shape.end(), index_t{0}) != shape.end();
        product *= extent == 0 ? 1 : extent;
    }
    return true;
}

/// True if the region has `ndim` axes.
constexpr bool has_axes(box const& region, std::size_t ndim) {
    return region.offset.size() == ndim && region.shape.size() == ndim;
}

/// True if the region lies inside the shape, and also if they cannot be compared.
constexpr bool lies_inside(box const& region, index_vector const& shape) {
    if (!has_axes(region, shape.size()))
        return true;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        if (region.shape[axis] < 0 || region.offset[axis] < 0 ||
            region.offset[axis] > shape[axis] - region.shape[axis])
            return false;
    return true;
}

} // namespace reshard::detail

namespace reshard::typed {

/// A text that keys are made of: `key<"layers."> + number<3> + ".weight"` is `"layers.3.weight"`.
template <detail::fixed_string Text>
inline constexpr auto key = Text;

/// A number as such a text.
template <std::size_t Number>
inline constexpr auto number = detail::digits_of<Number>();

/// A shard whose key, element type, global shape and region are part of its type.
///
/// `T` is an element type, or `data_type_constant<data_type::f8_e4m3>` if C++ has no such type.
template <detail::fixed_string Key, class T, index_vector Global, box Region>
struct shard {
    static_assert(!Key.view().empty(), "a typed::shard needs a key");
    static_assert(
        detail::has_data_type<T>,
        "the element type of a typed::shard has no data type; specialise data_type_traits");
    static_assert(detail::is_shape(Global),
                  "the global shape of a typed::shard has a negative extent or too many elements");
    static_assert(detail::has_axes(Region, Global.size()),
                  "the region of a typed::shard must have the number of axes of its global shape");
    static_assert(detail::lies_inside(Region, Global),
                  "the region of a typed::shard must lie inside its global shape");

    static constexpr std::string_view key = Key.view();
    static constexpr data_type dtype = detail::named_data_type<T>();
    static constexpr index_vector global_shape = Global;
    static constexpr box region = Region;
    static constexpr std::optional<flat_range> flat = std::nullopt;

    operator shard_descriptor() const {
        return {std::string(key), dtype, global_shape, region, flat};
    }
};

/// The part of a typed shard that a flat range of its region holds, as ZeRO cuts them.
template <class Shard, flat_range Range>
struct flat_shard : Shard {
    static_assert(!Shard::flat, "a typed::flat_shard cannot be made of another one");
    static_assert(0 <= Range.begin && Range.begin <= Range.end &&
                      Range.end <= element_count(Shard::region),
                  "the flat range of a typed::flat_shard must lie inside its region");

    static constexpr std::optional<flat_range> flat = Range;

    operator shard_descriptor() const {
        return {std::string(Shard::key), Shard::dtype, Shard::global_shape, Shard::region, flat};
    }
};

} // namespace reshard::typed

namespace reshard::detail {

/// A type with the content of a `shard_descriptor`.
template <class T>
concept shard_type = std::convertible_to<T, shard_descriptor> && requires {
    { T::key } -> std::convertible_to<std::string_view>;
    { T::dtype } -> std::convertible_to<data_type>;
    { T::global_shape } -> std::convertible_to<index_vector>;
    { T::region } -> std::convertible_to<box>;
    { T::flat } -> std::convertible_to<std::optional<flat_range>>;
};

/// A descriptor that does not own its strings: not every compiler has them in constant expressions.
struct shard_facts {
    std::string_view key;
    data_type dtype{};
    index_vector global_shape;
    box region;
    std::optional<flat_range> flat;

    constexpr bool operator==(shard_facts const&) const = default;
};

/// The content of a shard type, as a value.
template <shard_type T>
constexpr shard_facts facts_of() {
    return {T::key, T::dtype, T::global_shape, T::region, T::flat};
}

/// Two places in a list.
struct place_pair {
    std::size_t first;
    std::size_t second;
};

/// True if two shards of one key contradict each other.
constexpr bool clash(shard_facts const& a, shard_facts const& b) {
    return a.global_shape != b.global_shape || a.dtype != b.dtype || a == b;
}

/// The first two shards of one key that contradict each other.
template <std::size_t N>
constexpr std::optional<place_pair> find_clash(std::array<shard_facts, N> const& shards) {
    std::array<std::size_t, N> order{};
    for (std::size_t i = 0; i < N; ++i)
        order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return shards[a].key != shards[b].key ? shards[a].key < shards[b].key : a < b;
    });
    for (std::size_t i = 0; i < N; ++i)
        for (std::size_t j = i + 1; j < N && shards[order[j]].key == shards[order[i]].key; ++j)
            if (clash(shards[order[i]], shards[order[j]]))
                return place_pair{order[i], order[j]};
    return std::nullopt;
}

/// Reports the fault of two shards of one key.
template <shard_type A, shard_type B>
struct shards_of_one_key {
    static_assert(A::global_shape == B::global_shape,
                  "a typed::state_dict has one key with two global shapes");
    static_assert(A::dtype == B::dtype, "a typed::state_dict has one key with two data types");
    static_assert(facts_of<A>() != facts_of<B>(), "a typed::state_dict has the same shard twice");
};

/// True; does not compile if two of the shards clash.
template <shard_type... Shards>
consteval bool shards_agree() {
    constexpr auto pair =
        find_clash(std::array<shard_facts, sizeof...(Shards)>{facts_of<Shards>()...});
    if constexpr (pair) {
        using list = boost::mp11::mp_list<Shards...>;
        shards_of_one_key<boost::mp11::mp_at_c<list, pair->first>,
                          boost::mp11::mp_at_c<list, pair->second>>{};
    }
    return true;
}

} // namespace reshard::detail

namespace reshard::typed {

/// What one rank holds, as a list of shard types that mp11 can work on.
///
/// It converts to the descriptors of its shards, in their order.
template <class... Shards>
struct state_dict {
    static_assert((detail::shard_type<Shards> && ...),
                  "a typed::state_dict is a list of shard types");
    static_assert(detail::shards_agree<Shards...>());

    static constexpr std::size_t size = sizeof...(Shards);

    /// The descriptors, in order.
    static std::vector<shard_descriptor> descriptors() {
        return {static_cast<shard_descriptor>(Shards{})...};
    }

    operator std::vector<shard_descriptor>() const { return descriptors(); }
};

} // namespace reshard::typed

#endif
