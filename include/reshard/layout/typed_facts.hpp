// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_TYPED_FACTS_HPP
#define RESHARD_LAYOUT_TYPED_FACTS_HPP

#include <reshard/core/vector.hpp>
#include <reshard/layout/cover.hpp>
#include <reshard/layout/descriptor.hpp>
#include <reshard/layout/distribution_grid.hpp>
#include <reshard/layout/shard_table.hpp>
#include <reshard/layout/shards_of.hpp>
#include <reshard/layout/typed_layout.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// \file
/// The shards of each rank of a typed layout, and queries for a `static_assert`. Equal tensors are
/// examined once.

namespace reshard {

namespace typed {

/// An argument of `with_placements`: the tensor's existing placements.
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
/// For example, `with_placements<layer<3>, only{1}, own_placements{}>` puts a layer on the second
/// pipeline stage and keeps its existing placements on the other mesh axes.
template <class Tensors, auto... Placements>
using with_placements = typename detail::replaced<Tensors, Placements...>::type;

} // namespace typed

namespace detail {

/// The region and flat range that a rank holds of a tensor with one part, or std::nullopt.
constexpr std::optional<std::pair<box, std::optional<flat_range>>>
part_held(sharding_part const& part, holder_t rank) {
    std::optional<std::pair<box, std::optional<flat_range>>> held;
    for_each_shard({part}, rank, [&](box const& region, auto const& flat, auto const&) {
        held.emplace(region, flat);
    });
    return held;
}

/// A list with the shard of a tensor that a rank holds; empty if it holds none.
template <class Layout, class Tensor, holder_t Rank>
consteval auto shards_of_rank() {
    constexpr auto held = part_held(Tensor::template kind_on<Layout::ranks>->part(), Rank);
    static_assert(holds<!Tensor::is_in_blocks, typename Tensor::key_fact>,
                  "a typed::shard cannot consist of cyclic blocks; use shards_of(layout)");
    if constexpr (!held)
        return boost::mp11::mp_list<>();
    else if constexpr (held->second)
        return boost::mp11::mp_list<
            typed::flat_shard<typename Tensor::template shard_of<held->first>, *held->second>>();
    else
        return boost::mp11::mp_list<typename Tensor::template shard_of<held->first>>();
}

/// Has the `typed::state_dict` of a rank as its `type`.
template <class Layout, holder_t Rank, class Tensors>
struct rank_shards;

template <class Layout, holder_t Rank, class... Tensors>
struct rank_shards<Layout, Rank, boost::mp11::mp_list<Tensors...>> {
    static constexpr holder_t count = Layout::rank_end;
    using type = boost::mp11::mp_append<
        typed::state_dict<>,
        decltype(shards_of_rank<Layout, Tensors, std::min(Rank, count - 1)>())...>;

    static_assert(holds<(Rank < count), wanted<Rank>, actual<count>>,
                  "the mesh of a typed::layout has no such rank");
};

} // namespace detail

namespace typed {

/// The shards that one rank of a layout holds, as a `state_dict`.
template <class Layout, holder_t Rank>
using state_dict_of = typename detail::rank_shards<Layout, Rank, typename Layout::tensors>::type;

} // namespace typed

namespace detail {

/// The shards that one rank of a layout holds, in the order of the tensors. The rank may be known
/// only at run time.
///
/// \pre `rank < Layout::rank_end`
template <class Layout>
vector<shard_descriptor> descriptors_of(holder_t rank) {
    return shards_of(typed::shardings_of<Layout>(), rank);
}

/// The boxes of a part, regardless of which ranks hold them.
constexpr shard_grid boxes_of(sharding_part const& part) {
    distribution const& spread = part.spread;
    return grid_of(distribution(spread.ranks(), spread.placements(), spread.shape()));
}

/// True if the boxes of a kind cover the tensor. The boxes do not overlap.
template <typed::kind const* Kind>
inline constexpr bool kind_is_covered = [] {
    shard_grid const shards = boxes_of(Kind->part());
    index_t held_count = 0;
    for (std::size_t i = 0; i < shards.box_count(); ++i)
        held_count += element_count(held_shape(shards.box_at(i), shards.cycles_at(i)));
    return held_count == element_count(Kind->shape);
}();

/// True if all slices of `elements` elements have the same length, or if there are no slices.
constexpr bool has_equal_slices(sharding_part const& part, index_t elements) {
    if (!part.flat)
        return true;
    index_t const count = sharing_ranks(part.spread.ranks(), part.flat->axes).count();
    return elements % count == 0 && part.flat->slices.value_or(flat_slices{0, elements / count}) ==
                                        flat_slices{0, elements / count};
}

/// True if all shards of a kind have the same shape.
template <typed::kind const* Kind>
inline constexpr bool kind_has_equal_shards = [] {
    sharding_part const part = Kind->part();
    shard_grid const shards = boxes_of(part);
    index_vector const first = held_shape(shards.box_at(0), shards.cycles_at(0));
    for (std::size_t i = 1; i < shards.box_count(); ++i)
        if (held_shape(shards.box_at(i), shards.cycles_at(i)) != first)
            return false;
    return has_equal_slices(part, element_count(first));
}();

/// Evaluates a predicate for all kinds of a layout, once for each kind.
template <class Layout>
struct every_kind {
    template <std::size_t... I>
    static constexpr bool is_covered(std::index_sequence<I...>) {
        return all(std::array<bool, sizeof...(I)>{kind_is_covered<Layout::kinds[I]>...});
    }
    template <std::size_t... I>
    static constexpr bool has_equal_shards(std::index_sequence<I...>) {
        return all(std::array<bool, sizeof...(I)>{kind_has_equal_shards<Layout::kinds[I]>...});
    }

    template <std::size_t N>
    static constexpr bool all(std::array<bool, N> const& answers) {
        return std::find(answers.begin(), answers.end(), false) == answers.end();
    }
};

/// The holders of all shards as a type: one `typed::state_dict` for each rank.
template <class... Ranks>
struct typed_ranks {};

/// One tensor and its shards. It does not own its strings.
struct keyed_table {
    std::string_view key;
    data_type dtype{};
    index_vector shape;
    shard_table shards;
};

/// All tensors of one side, sorted by key. Numbers are indices in that list.
class keyed_tables {
public:
    template <class... Ranks>
    constexpr explicit keyed_tables(typed_ranks<Ranks...>) {
        holder_t rank = 0;
        (add(rank++, Ranks{}), ...);
    }

    constexpr vector<keyed_table> const& all() const { return tables_; }

private:
    template <class... Shards>
    constexpr void add([[maybe_unused]] holder_t rank, typed::state_dict<Shards...>) {
        (add(rank, facts_of<Shards>()), ...);
    }

    constexpr void add(holder_t rank, shard_facts const& shard) {
        std::size_t const index = lower_bound(shard.key);
        if (index == tables_.size() || tables_[index].key != shard.key)
            tables_.insert(tables_.begin() + static_cast<std::ptrdiff_t>(index),
                           {shard.key, shard.dtype, shard.global_shape,
                            shard_table(shard.global_shape.size())});
        keyed_table& table = tables_[index];
        if (table.shape != shard.global_shape)
            fail(errc::shape_mismatch, "'", shard.key, "' has two global shapes on two ranks");
        if (table.dtype != shard.dtype)
            fail(errc::dtype_mismatch, "'", shard.key, "' has two data types on two ranks");
        table.shards.push_back(rank, shard.region, shard.flat);
    }

    constexpr std::size_t lower_bound(std::string_view key) const {
        auto const position = std::lower_bound(
            tables_.begin(), tables_.end(), key,
            [](keyed_table const& table, std::string_view sought) { return table.key < sought; });
        return static_cast<std::size_t>(position - tables_.begin());
    }

    vector<keyed_table> tables_;
};

/// True if the shards hold each element of the tensor once, not counting replicas.
constexpr bool is_held(keyed_table const& tensor) {
    box_list boxes(tensor.shape.size());
    for (std::size_t i = 0; i < tensor.shards.size(); ++i)
        for (box const& region : tensor.shards.boxes(i))
            boxes.push_back(region);
    return !find_cover_fault(whole(tensor.shape), box_index(distinct(boxes).boxes));
}

} // namespace detail

namespace typed {

/// True if every element of every tensor has a holder. This is always true for a `typed::layout`;
/// `typed_ranks` may have gaps.
template <class Layout>
inline constexpr bool is_covered =
    detail::every_kind<Layout>::is_covered(std::make_index_sequence<Layout::keys.size()>());

template <class... Ranks>
inline constexpr bool is_covered<detail::typed_ranks<Ranks...>> = [] {
    detail::keyed_tables const tables(detail::typed_ranks<Ranks...>{});
    return std::all_of(tables.all().begin(), tables.all().end(), detail::is_held);
}();

/// True if every cut divides its extent, so that all holders of a tensor have equally many
/// elements.
template <class Layout>
inline constexpr bool has_equal_shards =
    detail::every_kind<Layout>::has_equal_shards(std::make_index_sequence<Layout::keys.size()>());

/// True if both layouts have the same keys, in any order.
template <class A, class B>
inline constexpr bool has_same_keys = [] {
    if (A::keys.size() != B::keys.size())
        return false;
    for (std::size_t i = 0; i < A::keys.size(); ++i)
        if (B::keys.find(A::keys[i]) == B::keys.size())
            return false;
    return true;
}();

} // namespace typed

} // namespace reshard

#endif
