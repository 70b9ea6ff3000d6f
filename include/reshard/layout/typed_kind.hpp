// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_TYPED_KIND_HPP
#define RESHARD_LAYOUT_TYPED_KIND_HPP

#include <reshard/core/data_type.hpp>
#include <reshard/layout/distribution.hpp>

#include <optional>
#include <vector>

/// \file
/// What a typed tensor is but for its key: tensors of a kind are checked and planned once.

namespace reshard {

/// Data type, shape and placements of a tensor on a mesh.
///
/// A constant of which there is one for all tensors that are alike: its address is a template
/// argument in place of all of this, and stands for it.
struct typed_kind {
    mesh ranks;
    data_type dtype{};
    index_vector shape;
    std::vector<placement> (*placements)() = nullptr;

    /// How it is spread.
    constexpr distribution how() const { return distribution(ranks, placements(), shape); }
};

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
inline constexpr typed_kind kind_constant{Ranks, Type, Shape, &placement_list<Placements...>};

} // namespace detail

} // namespace reshard

#endif
