// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_TYPED_HPP
#define RESHARD_LAYOUT_TYPED_HPP

#include <reshard/core/vector.hpp>
#include <reshard/layout/descriptor.hpp>
#include <reshard/layout/typed_keys.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// \file
/// Shards and state dicts as types: a contradiction is a compile error.

namespace reshard::detail {

/// A type with a data type as its `value`, such as `data_type_constant`.
template <class T>
concept names_data_type = requires {
    { T::value } -> std::convertible_to<data_type>;
};

/// A type that may be the element type of a typed shard.
template <class T>
concept has_data_type =
    names_data_type<T> || requires { data_type_traits<std::remove_cv_t<T>>::value; };

/// The data type that `T` represents.
template <class T>
consteval data_type named_data_type() {
    if constexpr (names_data_type<T>)
        return T::value;
    else if constexpr (has_data_type<T>)
        return data_type_of<T>;
    else
        return data_type{}; // another check reports the missing data type
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

/// The first axis along which the region exceeds the shape. The result is the number of axes if
/// there is none, or if region and shape have different numbers of axes.
constexpr std::size_t axis_outside(box const& region, index_vector const& shape) {
    if (!has_axes(region, shape.size()))
        return shape.size();
    std::size_t axis = 0;
    while (axis < shape.size() && region.shape[axis] >= 0 && region.offset[axis] >= 0 &&
           region.offset[axis] <= shape[axis] - region.shape[axis])
        ++axis;
    return axis;
}

/// The first axis along which shapes differ; otherwise the number of axes of the shorter shape.
constexpr std::size_t axis_that_differs(index_vector const& a, index_vector const& b) {
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                    a.begin());
}

template <template <auto...> class Fact, index_vector Numbers, std::size_t... I>
consteval Fact<Numbers.values[I]...> fact_of(std::index_sequence<I...>) {
    return {};
}

/// A fact whose arguments are these numbers. An alias template would crash g++ 12.
template <template <auto...> class Fact, index_vector Numbers>
consteval auto fact_of() {
    return fact_of<Fact, Numbers>(std::make_index_sequence<Numbers.size()>());
}

/// A rule that is violated, with the facts.
///
/// `check_rule` has the message. It is a function because clang rejects every use of a class whose
/// `static_assert` fails.
template <auto Rule, class... Facts>
struct broken {};

struct no_rule_broken {};

consteval bool check_rule(no_rule_broken) { return true; }

/// A rule that is violated because two shapes differ.
template <auto Rule, class Key, index_vector Wanted, index_vector Actual>
consteval auto broken_by_shape() {
    constexpr std::size_t axis = axis_that_differs(Wanted, Actual);
    return broken<Rule, Key, on_axis<axis>, decltype(fact_of<wanted, Wanted>()),
                  decltype(fact_of<actual, Actual>())>();
}

} // namespace reshard::detail

namespace reshard::typed {

/// A shard as a type: its key, element type, global shape and region are parts of the type.
///
/// `T` is an element type, or `data_type_constant<data_type::f8_e4m3>` if C++ has no such type.
template <detail::fixed_string Key, class T, index_vector Global, box Region>
struct shard {
    using key_fact = detail::of_key<Key>;
    static constexpr std::string_view key = Key.view();
    static constexpr data_type dtype = detail::named_data_type<T>();
    static constexpr index_vector global_shape = Global;
    static constexpr box region = Region;
    static constexpr std::optional<flat_range> flat = std::nullopt;

    operator shard_descriptor() const {
        return {std::string(key), dtype, global_shape, region, flat};
    }

    static_assert(detail::holds<!Key.view().empty(), key_fact>, "a typed::shard needs a key");
    static_assert(
        detail::holds<detail::has_data_type<T>, key_fact, T>,
        "the element type of a typed::shard has no data type; specialise data_type_traits");
    static_assert(detail::holds<detail::is_shape(Global), key_fact, detail::actual<Global>>,
                  "the global shape of a typed::shard has a negative extent or too many elements");
    static_assert(detail::holds<detail::has_axes(Region, Global.size()), key_fact,
                                detail::wanted<Global.size()>, detail::actual<Region.shape.size()>>,
                  "the region of a typed::shard must have as many axes as its global shape");
    static_assert(
        detail::holds<detail::axis_outside(Region, Global) == Global.size(), key_fact,
                      detail::on_axis<detail::axis_outside(Region, Global)>,
                      decltype(detail::fact_of<detail::wanted, Global>()), detail::actual<Region>>,
        "the region of a typed::shard must lie inside its global shape");
};

/// A typed shard that is cut flat: it has a flat range of its region, as in ZeRO.
template <class Shard, flat_range Range>
struct flat_shard : Shard {
    static constexpr std::optional<flat_range> flat = Range;

    operator shard_descriptor() const {
        return {std::string(Shard::key), Shard::dtype, Shard::global_shape, Shard::region, flat};
    }

    static_assert(detail::holds<!Shard::flat, typename Shard::key_fact>,
                  "a typed::flat_shard cannot be made of another one");
    static_assert(detail::holds < 0 <= Range.begin && Range.begin <= Range.end &&
                      Range.end <= element_count(Shard::region),
                  typename Shard::key_fact, detail::actual < Range >>,
                  "the flat range of a typed::flat_shard must lie inside its region");
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

/// A descriptor that does not own its strings, because not every compiler allows strings in
/// constant expressions.
struct shard_facts {
    std::string_view key;
    data_type dtype{};
    index_vector global_shape;
    box region;
    std::optional<flat_range> flat;

    constexpr bool operator==(shard_facts const&) const = default;
};

/// The content of a shard type as a value.
template <shard_type T>
constexpr shard_facts facts_of() {
    return {T::key, T::dtype, T::global_shape, T::region, T::flat};
}

/// The indices of two shards in a list.
struct place_pair {
    std::size_t first;
    std::size_t second;
};

/// True if two shards with the same key contradict each other.
constexpr bool clash(shard_facts const& a, shard_facts const& b) {
    return a.global_shape != b.global_shape || a.dtype != b.dtype || a == b;
}

/// The first two shards with the same key that contradict each other.
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

/// The rules for a state dict.
enum class state_dict_rule { of_shards, of_one_shape, of_one_dtype, of_different_shards };

template <state_dict_rule Rule, class... Facts>
consteval bool check_rule(broken<Rule, Facts...>) {
    using enum state_dict_rule;
    static_assert(holds<Rule != of_shards, Facts...>,
                  "a typed::state_dict must be a list of shard types");
    static_assert(holds<Rule != of_one_shape, Facts...>,
                  "a typed::state_dict has one key with two global shapes");
    static_assert(holds<Rule != of_one_dtype, Facts...>,
                  "a typed::state_dict has one key with two data types");
    static_assert(holds<Rule != of_different_shards, Facts...>,
                  "a typed::state_dict has the same shard twice");
    return true;
}

/// The rule that two shards with the same key violate.
template <class A, class B>
consteval auto clash_of() {
    using enum state_dict_rule;
    using key = typename A::key_fact;
    if constexpr (A::global_shape != B::global_shape)
        return broken_by_shape<of_one_shape, key, A::global_shape, B::global_shape>();
    else if constexpr (A::dtype != B::dtype)
        return broken<of_one_dtype, key, wanted<A::dtype>, actual<B::dtype>>();
    else
        return broken<of_different_shards, key, actual<A::region>>();
}

/// The first rule of a state dict that the shards violate, if any.
template <class... Shards>
consteval auto broken_by_shards() {
    if constexpr (!(shard_type<Shards> && ...)) {
        return broken<state_dict_rule::of_shards, Shards...>();
    } else {
        constexpr auto pair =
            find_clash(std::array<shard_facts, sizeof...(Shards)>{facts_of<Shards>()...});
        if constexpr (pair) {
            using list = boost::mp11::mp_list<Shards...>;
            return clash_of<boost::mp11::mp_at_c<list, pair->first>,
                            boost::mp11::mp_at_c<list, pair->second>>();
        } else {
            return no_rule_broken();
        }
    }
}

} // namespace reshard::detail

namespace reshard::typed {

/// The shards that one rank holds, as a list of types for mp11.
///
/// Converts to the descriptors of its shards, in order.
template <class... Shards>
struct state_dict {
    static_assert(detail::check_rule(detail::broken_by_shards<Shards...>()));

    static constexpr std::size_t size = sizeof...(Shards);

    /// The descriptors of the shards, in order.
    static vector<shard_descriptor> descriptors() {
        return {static_cast<shard_descriptor>(Shards{})...};
    }

    operator vector<shard_descriptor>() const { return descriptors(); }
};

} // namespace reshard::typed

#endif
