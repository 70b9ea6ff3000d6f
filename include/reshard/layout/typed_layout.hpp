// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_TYPED_LAYOUT_HPP
#define RESHARD_LAYOUT_TYPED_LAYOUT_HPP

#include <reshard/core/data_type.hpp>
#include <reshard/layout/distribution.hpp>
#include <reshard/layout/sharding.hpp>
#include <reshard/layout/typed.hpp>
#include <reshard/layout/typed_keys.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// \file
/// A whole job's layout as a type: a mesh, and tensors with their placements. The kind of a tensor
/// is everything except its key: tensors of a kind are checked and planned once.

namespace reshard {

struct layout;

namespace typed {

/// Data type, shape and placements of a tensor on a mesh.
///
/// A constant that all equal tensors share: its address is a template argument in place of all of
/// this.
struct kind {
    mesh ranks;
    data_type dtype{};
    index_vector shape;
    std::vector<placement> (*placements)() = nullptr;

    /// How it is spread.
    constexpr distribution spread() const { return distribution(ranks, placements(), shape); }
};

} // namespace typed

namespace detail {

/// The key of a tensor; layouts with the same key share it.
template <fixed_string Key>
inline constexpr hashed_key hash_of{Key.view()};

template <auto... Placements>
constexpr std::vector<placement> placement_list() {
    return {placement(Placements)...};
}

template <mesh Ranks, data_type Type, index_vector Shape, auto... Placements>
inline constexpr typed::kind kind_constant{Ranks, Type, Shape, &placement_list<Placements...>};

/// A typed tensor without its key: what the compiler evaluates once for equal tensors.
template <class T, index_vector Shape, auto... Placements>
struct typed_form {
    static constexpr bool has_type = has_data_type<T>;
    static constexpr bool has_shape = is_shape(Shape);
    static constexpr bool is_in_blocks =
        ((placement(Placements).type == placement::kind::cyclic) || ...);

    using element_type = T;
    static constexpr data_type dtype = named_data_type<T>();
    static constexpr index_vector shape = Shape;

    static constexpr std::vector<placement> placements() { return placement_list<Placements...>(); }

    /// Its kind on that mesh.
    template <mesh Ranks>
    static constexpr typed::kind const* kind_on =
        &kind_constant<Ranks, dtype, Shape, Placements...>;

    /// The fault of its placement on that mesh, or std::nullopt.
    template <mesh Ranks>
    static constexpr std::optional<placement_fault> fault_on =
        find_fault(Ranks.shape(), placements(), Shape);
};

} // namespace detail

namespace typed {

/// A tensor, spread over a mesh: one placement, such as `shard{0}`, for each mesh axis.
///
/// `T` is as in `shard`.
template <detail::fixed_string Key, class T, index_vector Shape, auto... Placements>
struct tensor : detail::typed_form<T, Shape, Placements...> {
    static_assert(!Key.view().empty(), "a typed::tensor needs a key");
    static_assert(
        tensor::has_type,
        "the element type of a typed::tensor has no data type; specialise data_type_traits");
    static_assert(!tensor::is_in_blocks,
                  "a typed::tensor cannot be dealt out in blocks; describe it by a distribution");
    static_assert(tensor::has_shape,
                  "the shape of a typed::tensor has a negative extent or too many elements");

    static constexpr std::string_view key = Key.view();
    static constexpr detail::hashed_key const& hashed = detail::hash_of<Key>;

    /// The shard that holds that region.
    template <box Region>
    using shard_of = shard<Key, T, Shape, Region>;

    /// What it is in another template, such as `typed::source`.
    template <template <detail::fixed_string, class, index_vector> class Other>
    using as = Other<Key, T, Shape>;
};

/// In `with_placements`: those that the tensor has.
struct own_placements {
    constexpr bool operator==(own_placements const&) const = default;
};

} // namespace typed

namespace detail {

template <auto Placement>
struct placed {
    static constexpr auto value = Placement;
};

template <class Tensors, auto... Placements>
struct replaced;

template <fixed_string Key, class T, index_vector Shape, auto... Own, auto... Placements>
struct replaced<typed::tensor<Key, T, Shape, Own...>, Placements...> {
    template <auto Placement>
    using spliced = boost::mp11::mp_if_c<
        std::same_as<std::remove_cv_t<decltype(Placement)>, typed::own_placements>,
        boost::mp11::mp_list<placed<Own>...>, boost::mp11::mp_list<placed<Placement>>>;
    template <class... Values>
    using tensor = typed::tensor<Key, T, Shape, Values::value...>;

    using type = boost::mp11::mp_apply<
        tensor, boost::mp11::mp_append<boost::mp11::mp_list<>, spliced<Placements>...>>;
};

template <class... Tensors, auto... Placements>
struct replaced<boost::mp11::mp_list<Tensors...>, Placements...> {
    using type = boost::mp11::mp_list<typename replaced<Tensors, Placements...>::type...>;
};

} // namespace detail

namespace typed {

/// The same tensor, or list of tensors, with other placements.
///
/// `with_placements<layer<3>, only{1}, own_placements{}>` puts a layer on the second stage of
/// pipeline and leaves it cut as it is.
template <class Tensors, auto... Placements>
using with_placements = typename detail::replaced<Tensors, Placements...>::type;

} // namespace typed

namespace detail {

/// Reports the fault in the placements of a tensor, with its numbers.
template <class Tensor, placement_fault Fault>
struct placement_of {
    using kind = placement_fault::kind;
    static_assert(Fault.type != kind::count,
                  "a typed::tensor needs one placement for each axis of the mesh");
    static_assert(Fault.type != kind::coordinate,
                  "a placement names a coordinate that its mesh axis does not have");
    static_assert(Fault.type != kind::axis,
                  "a placement cuts an axis that the typed::tensor does not have");
    static_assert(Fault.type != kind::uneven,
                  "an even split of a typed::tensor must divide the extent");
    static_assert(Fault.type != kind::size_count,
                  "explicit sizes of a typed::tensor must be one for each rank of the mesh axis");
    static_assert(Fault.type != kind::negative_size,
                  "explicit sizes of a typed::tensor must not be negative");
    static_assert(Fault.type != kind::block && Fault.type != kind::dealt_out,
                  "a typed::tensor cannot be dealt out in blocks");
    static_assert(Fault.type != kind::size_sum,
                  "explicit sizes of a typed::tensor must sum to the extent");
};

/// Says which key appears twice in a layout.
template <class First, class Second>
struct tensors_of_one_key {
    static_assert(First::key != Second::key, "a typed::layout has two tensors of one key");
};

/// The keys of a layout; does not compile if one appears twice.
template <class... Tensors>
consteval typed_keys<sizeof...(Tensors)> different_keys(boost::mp11::mp_list<Tensors...>) {
    constexpr typed_keys<sizeof...(Tensors)> keys(
        std::array<hashed_key, sizeof...(Tensors)>{Tensors::hashed...});
    if constexpr (constexpr auto twice = keys.twice(); twice)
        tensors_of_one_key<boost::mp11::mp_at_c<boost::mp11::mp_list<Tensors...>, twice->first>,
                           boost::mp11::mp_at_c<boost::mp11::mp_list<Tensors...>, twice->second>>{};
    return keys;
}

template <mesh Ranks, class... Tensors>
consteval std::array<typed::kind const*, sizeof...(Tensors)>
kinds_on(boost::mp11::mp_list<Tensors...>) {
    return {Tensors::template kind_on<Ranks>...};
}

/// True; does not compile if the placements of a tensor do not fit it or the mesh.
template <mesh Ranks, class... Tensors>
consteval bool are_placed(boost::mp11::mp_list<Tensors...>) {
    constexpr std::array<bool, sizeof...(Tensors)> wrong{
        Tensors::template fault_on<Ranks>.has_value()...};
    constexpr auto first =
        static_cast<std::size_t>(std::find(wrong.begin(), wrong.end(), true) - wrong.begin());
    if constexpr (first < wrong.size()) {
        using tensor = boost::mp11::mp_at_c<boost::mp11::mp_list<Tensors...>, first>;
        placement_of<tensor, *tensor::template fault_on<Ranks>>{};
    }
    return true;
}

/// How tensors of these keys and kinds are spread, in their order.
inline std::vector<tensor_sharding> shardings_of(std::span<hashed_key const> keys,
                                                 std::span<typed::kind const* const> kinds) {
    std::vector<tensor_sharding> shardings;
    shardings.reserve(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i)
        shardings.push_back(
            sharding_of(std::string(keys[i].text), kinds[i]->dtype, kinds[i]->spread()));
    return shardings;
}

} // namespace detail

namespace typed {

/// How the tensors of a layout are spread, in their order.
template <class Layout>
std::vector<tensor_sharding> shardings_of() {
    return detail::shardings_of(Layout::keys.all(), Layout::kinds);
}

/// The layout of a whole job:
/// `layout<mesh{{"tp", 2}}, tensor<"w", float, index_vector{4, 4}, shard{0}>>`. Among the tensors
/// may be lists of them, as `layers` makes.
///
/// With `layout/layout_of.hpp` it converts to a `layout`, in which the tensors of a kind share a
/// spread.
template <mesh Ranks, class... Tensors>
struct layout {
    static constexpr mesh ranks = Ranks;
    using tensors = detail::all_tensors<Tensors...>;

    /// The keys, and the kinds of the tensors, in their order.
    static constexpr auto keys = detail::different_keys(tensors());
    static constexpr auto kinds = detail::kinds_on<Ranks>(tensors());

    static_assert(keys.size() == 0 || !keys.twice());
    static_assert(detail::are_placed<Ranks>(tensors()));

    /// How one of the tensors is spread.
    template <class Tensor>
    static constexpr distribution distribution_of() {
        return distribution(Ranks, Tensor::placements(), Tensor::shape, Tensor::key);
    }

    template <std::same_as<reshard::layout> Values> // which this header does not define
    operator Values() const {
        Values result = layout_of(detail::shardings_of(keys.all(), kinds));
        result.holders = Ranks.rank_count();
        return result;
    }
};

} // namespace typed

} // namespace reshard

#endif
