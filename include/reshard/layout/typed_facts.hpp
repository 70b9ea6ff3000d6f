// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_TYPED_FACTS_HPP
#define RESHARD_LAYOUT_TYPED_FACTS_HPP

#include <reshard/layout/distribution_grid.hpp>
#include <reshard/layout/typed_layout.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

/// \file
/// Questions to typed layouts for a `static_assert`; tensors that are alike are looked at once.

namespace reshard {

namespace detail {

/// True where the boxes of a kind, which share no elements, are all of the tensor.
template <typed_kind const* Kind>
inline constexpr bool kind_is_covered = [] {
    shard_grid const shards = grid_of(Kind->how());
    index_t held = 0;
    for (std::size_t i = 0; i < shards.box_count(); ++i)
        held += element_count(shards.box_at(i).shape);
    return held == element_count(Kind->shape);
}();

/// True where all boxes of a kind have one shape.
template <typed_kind const* Kind>
inline constexpr bool kind_has_equal_shards = [] {
    shard_grid const shards = grid_of(Kind->how());
    for (std::size_t i = 1; i < shards.box_count(); ++i)
        if (shards.box_at(i).shape != shards.box_at(0).shape)
            return false;
    return true;
}();

/// True where a predicate is of all kinds of a layout; asks each kind once.
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

} // namespace detail

/// True where every element of every tensor has a holder: so it is for all typed layouts that
/// compile; `typed_ranks` may leave gaps.
template <class Layout>
inline constexpr bool is_covered =
    detail::every_kind<Layout>::is_covered(std::make_index_sequence<Layout::keys.size()>());

/// True where every cut divides its extent: ranks that hold some of a tensor hold equally much.
template <class Layout>
inline constexpr bool has_equal_shards =
    detail::every_kind<Layout>::has_equal_shards(std::make_index_sequence<Layout::keys.size()>());

/// True where both layouts have the same keys, in whatever order.
template <class A, class B>
inline constexpr bool has_same_keys = [] {
    if (A::keys.size() != B::keys.size())
        return false;
    for (std::size_t i = 0; i < A::keys.size(); ++i)
        if (B::keys.find(A::keys[i]) == B::keys.size())
            return false;
    return true;
}();

} // namespace reshard

#endif
