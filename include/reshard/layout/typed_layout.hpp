// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_TYPED_LAYOUT_HPP
#define RESHARD_LAYOUT_TYPED_LAYOUT_HPP

#include <reshard/core/data_type.hpp>
#include <reshard/core/vector.hpp>
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

/// \file
/// A whole job's layout as a type: a mesh, and tensors with their placements. The kind of a tensor
/// is everything except its key. Tensors of the same kind are checked and planned once.

namespace reshard {

struct layout;

namespace detail {

/// A typed tensor without its key. The compiler evaluates it once for all equal tensors.
template <class T, index_vector Shape, auto... Placements>
struct typed_form {
    static constexpr bool is_in_blocks =
        ((placement(Placements).type == placement::kind::cyclic) || ...);

    using element_type = T;
    static constexpr data_type dtype = named_data_type<T>();
    static constexpr index_vector shape = Shape;

    static constexpr vector<placement> placements() { return placement_list<Placements...>(); }

    /// The fault in its placements on that mesh, or std::nullopt.
    template <auto Ranks>
    static constexpr std::optional<placement_fault> fault_on =
        is_shape(Shape) ? find_fault(mesh_in<Ranks>.shape(), placements(), Shape) : std::nullopt;

    static constexpr std::optional<flat_sharing> sharing = sharing_in<Placements...>();
    static constexpr bool shares_blocks = is_in_blocks && sharing;

    /// True if the slices of `typed::flat_share` hold all elements.
    template <auto Ranks>
    static constexpr bool has_slices_on = [] {
        if constexpr (is_shape(Shape) && !fault_on<Ranks> && !shares_blocks) {
            sharding_part const part = part_of<Ranks, Shape, Placements...>();
            return !part.flat || hold_all(part, count_sharing("", part));
        } else
            return true;
    }();

    /// True if the tensor is valid and fits that mesh.
    template <auto Ranks>
    static constexpr bool fits_on = has_data_type<T> && is_shape(Shape) && !fault_on<Ranks> &&
                                    !shares_blocks && has_slices_on<Ranks>;

    /// The tensor's kind on that mesh. An invalid tensor gets a replacement kind, so that the
    /// compiler reports only one error.
    template <auto Ranks>
    static constexpr typed::kind const* kind_on = [] {
        if constexpr (fits_on<Ranks>)
            return &kind_constant<Ranks, dtype, Shape, Placements...>;
        else
            return &unfit_kind < Ranks, dtype, is_shape(Shape) ? Shape : index_vector{} > ;
    }();
};

} // namespace detail

namespace typed {

/// A tensor that is distributed over a mesh: one placement, such as `shard{0}`, for each mesh axis.
///
/// `T` is the same as for `shard`.
template <detail::fixed_string Key, class T, index_vector Shape, auto... Placements>
struct tensor : detail::typed_form<T, Shape, Placements...> {
    using key_fact = detail::of_key<Key>;
    static constexpr std::string_view key = Key.view();
    static constexpr detail::hashed_key const& hashed = detail::hash_of<Key>;

    /// The shard with that region.
    template <box Region>
    using shard_of = shard<Key, T, Shape, Region>;

    /// The same key, element type and shape in another template, such as `typed::source`.
    template <template <detail::fixed_string, class, index_vector> class Other>
    using as = Other<Key, T, Shape>;
};

} // namespace typed

namespace detail {

/// Rules for the tensors of a layout, except for the rules for placements.
enum class tensor_rule { has_key, has_own_key, has_dtype, has_shape, shares_boxes, has_slices };

template <tensor_rule Rule, class... Facts>
consteval bool check_rule(broken<Rule, Facts...>) {
    using enum tensor_rule;
    static_assert(holds<Rule != has_key, Facts...>, "a typed::tensor needs a key");
    static_assert(holds<Rule != has_own_key, Facts...>,
                  "a typed::layout has two tensors with the same key");
    static_assert(
        holds<Rule != has_dtype, Facts...>,
        "the element type of a typed::tensor has no data type; specialise data_type_traits");
    static_assert(holds<Rule != has_shape, Facts...>,
                  "the shape of a typed::tensor has a negative extent or too many elements");
    static_assert(holds<Rule != shares_boxes, Facts...>,
                  "a typed::tensor with cyclic blocks cannot use typed::flat_share");
    static_assert(holds<Rule != has_slices, Facts...>,
                  "the slices of a typed::flat_share end before the typed::tensor does");
    return true;
}

template <placement_fault::kind Fault, class... Facts>
consteval bool check_rule(broken<Fault, Facts...>) {
    using kind = placement_fault::kind;
    static_assert(holds<Fault != kind::count, Facts...>,
                  "a typed::tensor needs one placement for each axis of the mesh");
    static_assert(holds<Fault != kind::coordinate, Facts...>,
                  "a placement names a coordinate that its mesh axis does not have");
    static_assert(holds<Fault != kind::axis, Facts...>,
                  "a placement cuts an axis that the typed::tensor does not have");
    static_assert(holds<Fault != kind::uneven, Facts...>,
                  "an even split of a typed::tensor must divide the extent");
    static_assert(holds<Fault != kind::size_count, Facts...>,
                  "a typed::tensor needs one explicit size for each rank of the mesh axis");
    static_assert(holds<Fault != kind::negative_size, Facts...>,
                  "explicit sizes of a typed::tensor must not be negative");
    static_assert(holds<Fault != kind::size_sum, Facts...>,
                  "explicit sizes of a typed::tensor must sum to the extent");
    static_assert(holds<Fault != kind::block, Facts...>,
                  "blocks of a typed::tensor must have elements");
    static_assert(holds<Fault != kind::dealt_out, Facts...>,
                  "no placement may cut an axis of a typed::tensor after block_cyclic");
    return true;
}

/// The name of a mesh axis as a text.
template <auto Ranks, std::size_t Axis>
consteval auto name_of_axis() {
    constexpr mesh_axis axis = mesh_in<Ranks>.all_axes[Axis];
    fixed_string<axis.name().size() + 1> name;
    name.put(0, axis.characters, axis.name().size());
    return name;
}

/// The rule that the placements of a tensor violate, with the facts.
template <auto Ranks, class Tensor>
consteval auto broken_by_placements() {
    using kind = placement_fault::kind;
    constexpr placement_fault fault = *Tensor::template fault_on<Ranks>;
    if constexpr (fault.type == kind::count) {
        return broken<fault.type, typename Tensor::key_fact, wanted<fault.there>,
                      actual<fault.wanted>>();
    } else {
        using key = typename Tensor::key_fact;
        using mesh_axis = on_mesh_axis<name_of_axis<Ranks, fault.mesh_axis>()>;
        constexpr std::size_t axis = Tensor::placements()[fault.mesh_axis].axis;
        if constexpr (fault.type == kind::coordinate)
            return broken<fault.type, key, mesh_axis, wanted<fault.wanted>, actual<fault.there>>();
        else
            return broken<fault.type, key, on_axis<axis>, mesh_axis, wanted<fault.wanted>,
                          actual<fault.there>>();
    }
}

/// The rule that an invalid tensor violates on that mesh.
template <auto Ranks, class Tensor>
consteval auto broken_by_tensor() {
    using key = typename Tensor::key_fact;
    if constexpr (Tensor::key.empty())
        return broken<tensor_rule::has_key, key, decltype(fact_of<actual, Tensor::shape>())>();
    else if constexpr (!has_data_type<typename Tensor::element_type>)
        return broken<tensor_rule::has_dtype, key, typename Tensor::element_type>();
    else if constexpr (!is_shape(Tensor::shape))
        return broken<tensor_rule::has_shape, key, decltype(fact_of<actual, Tensor::shape>())>();
    else if constexpr (Tensor::template fault_on<Ranks>.has_value())
        return broken_by_placements<Ranks, Tensor>();
    else if constexpr (Tensor::shares_blocks)
        return broken<tensor_rule::shares_boxes, key, decltype(fact_of<actual, Tensor::shape>())>();
    else
        return broken<tensor_rule::has_slices, key, decltype(fact_of<wanted, Tensor::shape>()),
                      actual<Tensor::sharing->slices->begin, Tensor::sharing->slices->length>>();
}

/// The first rule of a layout that the tensors violate on that mesh, if any.
template <auto Ranks, class... Tensors>
consteval auto broken_by_tensors(boost::mp11::mp_list<Tensors...>) {
    constexpr std::array<bool, sizeof...(Tensors)> fits{
        (!Tensors::key.empty() && Tensors::template fits_on<Ranks>)...};
    constexpr auto first =
        static_cast<std::size_t>(std::find(fits.begin(), fits.end(), false) - fits.begin());
    using list = boost::mp11::mp_list<Tensors...>;
    if constexpr (first < fits.size()) {
        return broken_by_tensor<Ranks, boost::mp11::mp_at_c<list, first>>();
    } else if constexpr (constexpr auto twice = keys_of(list()).twice(); twice) {
        using second = boost::mp11::mp_at_c<list, twice->second>;
        return broken<tensor_rule::has_own_key, typename second::key_fact, actual<twice->first>,
                      actual<twice->second>>();
    } else {
        return no_rule_broken();
    }
}

template <auto Ranks, class... Tensors>
consteval std::array<typed::kind const*, sizeof...(Tensors)>
kinds_on(boost::mp11::mp_list<Tensors...>) {
    return {Tensors::template kind_on<Ranks>...};
}

/// The shardings of tensors with these keys and kinds, in order.
inline vector<tensor_sharding> shardings_of(std::span<hashed_key const> keys,
                                            std::span<typed::kind const* const> kinds) {
    vector<tensor_sharding> shardings;
    shardings.reserve(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i)
        shardings.push_back(
            {std::string(keys[i].text), kinds[i]->dtype, kinds[i]->shape, {kinds[i]->part()}});
    return shardings;
}

} // namespace detail

namespace typed {

/// The shardings of a layout's tensors, in order.
template <class Layout>
vector<tensor_sharding> shardings_of() {
    return detail::shardings_of(Layout::keys.all(), Layout::kinds);
}

/// The layout of a whole job:
/// `layout<mesh{{"tp", 2}}, tensor<"w", float, index_vector{4, 4}, shard{0}>>`. An argument may
/// also be a list of tensors, such as `layers`.
///
/// With `layout/layout_of.hpp`, it converts to a `layout`, in which tensors of the same kind share
/// a spread.
template <std::convertible_to<reshard::rank_mesh> auto Ranks, class... Tensors>
struct layout {
    static constexpr auto ranks = Ranks;
    /// One more than the highest rank.
    static constexpr holder_t rank_end = reshard::rank_mesh(Ranks).rank_end();
    using tensors = detail::all_tensors<Tensors...>;

    /// The keys and kinds of the tensors, in order.
    static constexpr auto keys = detail::keys_of(tensors());
    static constexpr auto kinds = detail::kinds_on<Ranks>(tensors());

    static_assert(detail::check_rule(detail::broken_by_tensors<Ranks>(tensors())));

    template <std::same_as<reshard::layout> Values> // this header does not define `reshard::layout`
    operator Values() const {
        Values result = layout_of(detail::shardings_of(keys.all(), kinds));
        result.holders = rank_end;
        return result;
    }
};

} // namespace typed

} // namespace reshard

#endif
