// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_PLACEMENT_FAULT_HPP
#define RESHARD_LAYOUT_PLACEMENT_FAULT_HPP

#include <reshard/core/index_vector.hpp>
#include <reshard/layout/placement.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// What keeps placements from fitting a mesh and a tensor.

namespace reshard::detail {

/// What is wrong with placements of a tensor on a mesh.
struct placement_fault {
    enum class kind {
        count,         ///< not one placement for each axis of the mesh
        coordinate,    ///< `only` at a coordinate that the mesh axis does not have
        axis,          ///< a cut along an axis that the tensor does not have
        uneven,        ///< an even split that leaves a remainder
        size_count,    ///< not one size for each rank along the mesh axis
        negative_size, ///< a size below zero
        size_sum,      ///< sizes that do not sum to the extent
        block,         ///< blocks without elements
        dealt_out,     ///< a cut of an axis whose blocks another mesh axis has dealt out
    };

    kind what{};
    std::size_t mesh_axis = 0;
    index_t wanted = 0; ///< what the placement asks for
    index_t there = 0;  ///< what mesh or tensor have

    constexpr bool operator==(placement_fault const&) const = default;
};

/// What keeps the sizes of `how` from being those of `count` parts of an extent, or nothing.
constexpr std::optional<placement_fault>
find_size_fault(placement const& how, std::size_t mesh_axis, index_t extent, index_t count) {
    using kind = placement_fault::kind;
    auto const sizes = static_cast<index_t>(how.sizes.size());
    if (sizes != count)
        return placement_fault{kind::size_count, mesh_axis, sizes, count};
    index_t sum = 0;
    for (index_t const size : how.sizes) {
        if (size < 0)
            return placement_fault{kind::negative_size, mesh_axis, size, extent};
        if (size > std::numeric_limits<index_t>::max() - sum)
            return placement_fault{kind::size_sum, mesh_axis, size, extent};
        sum += size;
    }
    if (sum != extent)
        return placement_fault{kind::size_sum, mesh_axis, sum, extent};
    return std::nullopt;
}

/// What keeps the blocks of `how` from being dealt out, or nothing.
constexpr std::optional<placement_fault> find_block_fault(placement const& how,
                                                          std::size_t mesh_axis) {
    if (how.what == placement::kind::cyclic && how.block < 1)
        return placement_fault{placement_fault::kind::block, mesh_axis, how.block, 1};
    return std::nullopt;
}

/// What keeps `how` from cutting each of `extents`; then these are what the cut leaves, each once.
constexpr std::optional<placement_fault> cut_extents(placement const& how, std::size_t mesh_axis,
                                                     index_t count, std::vector<index_t>& extents) {
    std::vector<index_t> left;
    for (index_t const extent : extents) {
        if (how.what == placement::kind::sizes) {
            if (auto const fault = find_size_fault(how, mesh_axis, extent, count))
                return fault;
            left.insert(left.end(), how.sizes.begin(), how.sizes.end());
            continue;
        }
        if (how.what == placement::kind::even && extent % count != 0)
            return placement_fault{placement_fault::kind::uneven, mesh_axis, count, extent};
        index_t const most = interval_of(how, extent, count, 0).extent;
        index_t const shorter = most == 0 ? 0 : std::min(extent / most, count - 1);
        for (index_t const i : {index_t{0}, shorter, count - 1})
            left.push_back(interval_of(how, extent, count, i).extent);
    }
    std::sort(left.begin(), left.end());
    left.erase(std::unique(left.begin(), left.end()), left.end());
    extents = std::move(left);
    return std::nullopt;
}

/// The first thing that keeps a tensor of that shape from being placed so, or nothing.
///
/// \pre no extent of the tensor is negative
constexpr std::optional<placement_fault> find_fault(index_vector const& mesh_shape,
                                                    std::vector<placement> const& placements,
                                                    index_vector const& shape) {
    using kind = placement_fault::kind;
    if (placements.size() != mesh_shape.size())
        return placement_fault{kind::count, 0, static_cast<index_t>(placements.size()),
                               static_cast<index_t>(mesh_shape.size())};
    index_vector dealt_out = index_vector::filled(shape.size(), 0); // by whom, from 1 on
    std::vector<std::vector<index_t>> extents;
    for (index_t const extent : shape)
        extents.push_back({extent});
    for (index_t const ordinal : cut_order(placements)) {
        auto const i = static_cast<std::size_t>(ordinal);
        placement const& how = placements[i];
        if (how.what == placement::kind::only &&
            (how.coordinate < 0 || how.coordinate >= mesh_shape[i]))
            return placement_fault{kind::coordinate, i, how.coordinate, mesh_shape[i]};
        if (!how.cuts())
            continue;
        if (how.axis >= shape.size())
            return placement_fault{kind::axis, i, static_cast<index_t>(how.axis),
                                   static_cast<index_t>(shape.size())};
        if (dealt_out[how.axis])
            return placement_fault{kind::dealt_out, i, static_cast<index_t>(how.axis),
                                   dealt_out[how.axis] - 1};
        if (auto const fault = find_block_fault(how, i))
            return fault;
        if (how.what == placement::kind::cyclic)
            dealt_out[how.axis] = ordinal + 1;
        else if (auto const fault = cut_extents(how, i, mesh_shape[i], extents[how.axis]))
            return fault;
    }
    return std::nullopt;
}

} // namespace reshard::detail

#endif
