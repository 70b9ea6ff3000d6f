// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_GRID_AXIS_IPP
#define RESHARD_LAYOUT_IMPL_GRID_AXIS_IPP

#include <reshard/layout/grid_axis.hpp>

#include <reshard/layout/descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace reshard::detail {

RESHARD_DECL index_t end_of_holders(grid_recipe const& grid) {
    constexpr index_t most = std::numeric_limits<std::int32_t>::max(); // as a mesh has
    index_t last = 0;
    for (held_axis const& axis : grid.axes) {
        if (axis.extent < 2 || axis.holder_stride <= last || axis.extent > most ||
            axis.holder_stride > most || axis.extent * axis.holder_stride > most)
            fail(errc::bad_layout, "it has a grid of ", axis.extent, " groups of ranks, ",
                 axis.holder_stride, " ranks apart, but a group has ", last + 1, " ranks");
        last += (axis.extent - 1) * axis.holder_stride;
    }
    return grid.first_holder + last + 1;
}

RESHARD_DECL void validate(grid_recipe const& grid) {
    check_tensor("a grid", data_type::u8, grid.shape);
    end_of_holders(grid); // then no extent is 0
    if (grid.axes.size() > max_ndim)
        fail(errc::bad_layout, "it has a grid of ", grid.axes.size(), " axes, of ", max_ndim,
             " at most");
    index_vector extents;
    std::vector<placement> placements;
    for (std::size_t i = grid.axes.size(); i-- > 0;) {
        extents.push_back(grid.axes[i].extent);
        placements.push_back(grid.axes[i].how);
    }
    if (find_fault(extents, placements, grid.shape))
        fail(errc::bad_layout, "it has placements that do not fit a tensor of shape ", grid.shape);
}

} // namespace reshard::detail

#endif
