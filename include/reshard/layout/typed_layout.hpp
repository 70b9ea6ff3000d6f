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
#include <string>
#include <string_view>
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
    constexpr distribution how() const { return distribution(ranks, placements(), shape); }
};

} // namespace typed

namespace detail {

template <auto... Placements>
constexpr std::vector<placement> placement_list() {
    return {placement(Placements)...};
}

/// What keeps tensors of that shape from being placed so; worked out once for all of them.
template <mesh Ranks, index_vector Shape, auto... Placements>
inline constexpr std::optional<placement_fault> kind_fault =
    find_fault(Ranks.shape(), placement_list<Placements...>(), Shape);

template <mesh Ranks, data_type Type, index_vector Shape, auto... Placements>
inline constexpr typed::kind kind_constant{Ranks, Type, Shape, &placement_list<Placements...>};

} // namespace detail

namespace typed {

/// A tensor, spread over a mesh: one placement, such as `shard{0}`, for each mesh axis.
///
/// `T` is as in `shard`.
template <detail::fixed_string Key, class T, index_vector Shape, auto... Placements>
struct tensor {
    static_assert(!Key.view().empty(), "a typed::tensor needs a key");
    static_assert(
        detail::has_data_type<T>,
        "the element type of a typed::tensor has no data type; specialise data_type_traits");
    static_assert(((placement(Placements).what != placement::kind::cyclic) && ...),
                  "a typed::tensor cannot be dealt out in blocks; describe it by a distribution");
    static_assert(detail::is_shape(Shape),
                  "the shape of a typed::tensor has a negative extent or too many elements");

    using element_type = T;
    static constexpr std::string_view key = Key.view();
    static constexpr detail::hashed_key hashed = detail::hashed_key(Key.view());
    static constexpr data_type dtype = detail::named_data_type<T>();
    static constexpr index_vector shape = Shape;

    static constexpr std::vector<placement> placements() { return {placement(Placements)...}; }

    /// The fault of its placement on that mesh, or std::nullopt.
    template <mesh Ranks>
    static constexpr std::optional<detail::placement_fault> fault_on() {
        return detail::kind_fault<Ranks, Shape, Placements...>;
    }

    /// Its kind on that mesh.
    template <mesh Ranks>
    static constexpr kind const* kind_on() {
        return &detail::kind_constant<Ranks, dtype, Shape, Placements...>;
    }

    /// The shard that holds that region.
    template <box Region>
    using shard_of = shard<Key, T, Shape, Region>;
};

} // namespace typed

namespace detail {

/// Reports the fault in the placements of a tensor, with its numbers.
template <class Tensor, placement_fault Fault>
struct placement_of {
    using kind = placement_fault::kind;
    static_assert(Fault.what != kind::count,
                  "a typed::tensor needs one placement for each axis of the mesh");
    static_assert(Fault.what != kind::coordinate,
                  "a placement names a coordinate that its mesh axis does not have");
    static_assert(Fault.what != kind::axis,
                  "a placement cuts an axis that the typed::tensor does not have");
    static_assert(Fault.what != kind::uneven,
                  "an even split of a typed::tensor must divide the extent");
    static_assert(Fault.what != kind::size_count,
                  "explicit sizes of a typed::tensor must be one for each rank of the mesh axis");
    static_assert(Fault.what != kind::negative_size,
                  "explicit sizes of a typed::tensor must not be negative");
    static_assert(Fault.what != kind::block && Fault.what != kind::dealt_out,
                  "a typed::tensor cannot be dealt out in blocks");
    static_assert(Fault.what != kind::size_sum,
                  "explicit sizes of a typed::tensor must sum to the extent");
};

/// True; does not compile if the placements of a tensor do not fit it or the mesh.
template <mesh Ranks, class Tensor>
consteval bool is_placed() {
    constexpr auto fault = Tensor::template fault_on<Ranks>();
    if constexpr (fault)
        placement_of<Tensor, *fault>{};
    return true;
}

/// Says which key appears twice in a layout.
template <class First, class Second>
struct tensors_of_one_key {
    static_assert(First::key != Second::key, "a typed::layout has two tensors of one key");
};

/// The keys of a layout; does not compile if one appears twice.
template <class... Tensors>
consteval typed_keys<sizeof...(Tensors)> different_keys() {
    constexpr typed_keys<sizeof...(Tensors)> keys(
        std::array<hashed_key, sizeof...(Tensors)>{Tensors::hashed...});
    if constexpr (constexpr auto twice = keys.twice(); twice)
        tensors_of_one_key<boost::mp11::mp_at_c<boost::mp11::mp_list<Tensors...>, twice->first>,
                           boost::mp11::mp_at_c<boost::mp11::mp_list<Tensors...>, twice->second>>{};
    return keys;
}

} // namespace detail

namespace typed {

/// How the tensors of a layout are spread, in their order.
template <class Layout>
std::vector<tensor_sharding> shardings_of() {
    std::vector<tensor_sharding> all;
    all.reserve(Layout::keys.size());
    for (std::size_t i = 0; i < Layout::keys.size(); ++i)
        all.push_back(sharding_of(std::string(Layout::keys[i].text), Layout::kinds[i]->dtype,
                                  Layout::kinds[i]->how()));
    return all;
}

/// The layout of a whole job:
/// `layout<mesh{{"tp", 2}}, tensor<"w", float, index_vector{4, 4}, shard{0}>>`.
///
/// It converts to a `layout`, in which the tensors of a kind share a spread, if
/// `layout/layout_of.hpp` is included.
template <mesh Ranks, class... Tensors>
struct layout {
    static constexpr mesh ranks = Ranks;
    using tensors = boost::mp11::mp_list<Tensors...>;

    /// The keys, and the kinds of the tensors, in their order.
    static constexpr detail::typed_keys<sizeof...(Tensors)> keys =
        detail::different_keys<Tensors...>();
    static constexpr std::array<kind const*, sizeof...(Tensors)> kinds = {
        Tensors::template kind_on<Ranks>()...};

    static_assert(keys.size() == 0 || !keys.twice());
    static_assert(std::array<bool, sizeof...(Tensors) + 1>{detail::is_placed<Ranks, Tensors>()...,
                                                           true}
                      .back());

    /// How one of the tensors is spread.
    template <class Tensor>
    static constexpr distribution distribution_of() {
        return distribution(Ranks, Tensor::placements(), Tensor::shape, Tensor::key);
    }

    template <std::same_as<reshard::layout> Values> // which this header does not define
    operator Values() const {
        Values result = layout_of(shardings_of<layout>());
        result.holders = Ranks.rank_count();
        return result;
    }
};

} // namespace typed

namespace detail {

/// A list of the one shard that a rank holds of a tensor, or of none.
template <class Layout, class Tensor, holder_t Rank>
consteval auto shards_of_rank() {
    constexpr auto region = Layout::template distribution_of<Tensor>().region(Rank);
    if constexpr (region)
        return boost::mp11::mp_list<typename Tensor::template shard_of<*region>>();
    else
        return boost::mp11::mp_list<>();
}

/// The `typed::state_dict` of a rank as its `type`.
template <class Layout, holder_t Rank, class Tensors>
struct rank_shards;

template <class Layout, holder_t Rank, class... Tensors>
struct rank_shards<Layout, Rank, boost::mp11::mp_list<Tensors...>> {
    static_assert(Rank < Layout::ranks.rank_count(),
                  "the mesh of a typed::layout has no such rank");
    using type = boost::mp11::mp_append<typed::state_dict<>,
                                        decltype(shards_of_rank<Layout, Tensors, Rank>())...>;
};

} // namespace detail

namespace typed {

/// What one rank of a layout holds, as a `state_dict`.
template <class Layout, holder_t Rank>
using state_dict_of = typename detail::rank_shards<Layout, Rank, typename Layout::tensors>::type;

} // namespace typed

namespace detail {

/// What one rank of a layout holds, in the order of its tensors, for a rank known at run time.
///
/// \pre `rank < Layout::ranks.rank_count()`
template <class Layout>
std::vector<shard_descriptor> descriptors_of(holder_t rank) {
    std::vector<shard_descriptor> held;
    for (std::size_t i = 0; i < Layout::keys.size(); ++i) {
        typed::kind const& kind = *Layout::kinds[i];
        if (auto shard =
                descriptor_of(std::string(Layout::keys[i].text), kind.dtype, kind.how(), rank))
            held.push_back(*std::move(shard));
    }
    return held;
}

} // namespace detail

} // namespace reshard

#endif
