// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_DISTRIBUTION_GRID_HPP
#define RESHARD_LAYOUT_DISTRIBUTION_GRID_HPP

#include <reshard/layout/distribution.hpp>
#include <reshard/layout/shard_grid.hpp>

#include <boost/assert.hpp>

#include <cstddef>
#include <vector>

/// \file
/// The grid of shards that a distribution makes.

namespace reshard::detail {

/// The shards of all ranks, which are not listed; placements `only` leave their mesh axis out, axes
/// of one rank do not matter.
constexpr shard_grid grid_of(distribution const& distribution) {
    BOOST_ASSERT(distribution.held_by().is_plain());
    index_vector const extents = distribution.ranks().shape();
    std::vector<held_axis> axes;
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

} // namespace reshard::detail

#endif
