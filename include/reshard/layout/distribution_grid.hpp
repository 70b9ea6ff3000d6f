// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_DISTRIBUTION_GRID_HPP
#define RESHARD_LAYOUT_DISTRIBUTION_GRID_HPP

#include <reshard/core/vector.hpp>
#include <reshard/layout/distribution.hpp>
#include <reshard/layout/flat_grid.hpp>
#include <reshard/layout/shard_grid.hpp>
#include <reshard/layout/sharding.hpp>
#include <reshard/layout/shards_of.hpp>
#include <reshard/layout/tensor_shards.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

/// \file
/// The shards of a distribution: a grid, or a table if ranks are listed.

namespace reshard::detail {

/// The shards of all ranks of a mesh, as a grid. Omits mesh axes with the placement `only` and mesh
/// axes of one rank.
///
/// \pre the ranks of the mesh are not listed
constexpr shard_grid grid_of(distribution const& distribution) {
    BOOST_ASSERT(distribution.held_by().is_plain());
    index_vector const extents = distribution.ranks().shape();
    vector<held_axis> axes;
    index_t first = 0, stride = 1;
    for (std::size_t i = extents.size(); i-- > 0; stride *= extents[i]) {
        placement const& placed = distribution.placements()[i];
        if (placed.type == placement::kind::only)
            first += placed.coordinate * stride;
        else if (extents[i] > 1)
            axes.push_back({placed, extents[i], stride});
    }
    return {distribution.shape(), static_cast<holder_t>(first), axes};
}

/// The axes of the part's grid along which ranks share boxes. Omits axes of one rank, and axes
/// along which only one coordinate holds the part.
constexpr vector<std::uint8_t> sharing_axes(sharding_part const& segment) {
    vector<std::uint8_t> axes;
    std::uint8_t next = 0;
    for (std::size_t i = 0; i < segment.spread.ranks().ndim(); ++i) {
        if (segment.spread.placements()[i].type == placement::kind::only ||
            segment.spread.ranks().all_axes[i].extent == 1)
            continue;
        if (has_axis(segment.flat->axes, i))
            axes.push_back(next);
        ++next;
    }
    return axes;
}

constexpr flat_grid flat_grid_of(sharding_part const& segment) {
    std::optional<grid_sharing> sharing;
    if (segment.flat)
        sharing = grid_sharing{sharing_axes(segment), segment.flat->slices};
    return {segment.offset, grid_of(segment.spread), std::move(sharing)};
}

/// The shards of all ranks, including empty shards, as in grids.
constexpr shard_table table_over_listed(index_vector const& shape,
                                        vector<sharding_part> const& parts) {
    holder_t end = 0;
    for (sharding_part const& segment : parts)
        end = std::max(end, segment.spread.held_by().rank_end());
    shard_table table(shape.size());
    for (holder_t rank = 0; rank < end; ++rank)
        for_each_shard(parts, rank, [&](box const& region, auto const& flat, auto const& cycles) {
            table.push_back(rank, region, flat, cycles);
        });
    return table;
}

/// The shards of a tensor that has one part: the result of `spread_of` as a constant.
class part_shards {
public:
    constexpr explicit part_shards(sharding_part const& part) {
        if (!part.spread.held_by().is_plain())
            table_ = table_over_listed(part.spread.shape(), {part});
        else if (part.flat)
            grids_.push_back(grid_list({flat_grid_of(part)}));
        else
            grid_.push_back(grid_of(part.spread));
    }

    constexpr operator tensor_shards() const {
        if (!grid_.empty())
            return &grid_[0];
        if (!grids_.empty())
            return &grids_[0];
        return &table_;
    }

private:
    vector<shard_grid> grid_; ///< at most one
    vector<grid_list> grids_; ///< at most one
    shard_table table_;
};

} // namespace reshard::detail

#endif
