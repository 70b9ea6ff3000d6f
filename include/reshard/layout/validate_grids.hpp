// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_VALIDATE_GRIDS_HPP
#define RESHARD_LAYOUT_VALIDATE_GRIDS_HPP

#include <reshard/layout/descriptor.hpp>
#include <reshard/layout/flat_grid.hpp>
#include <reshard/layout/placement_fault.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

/// \file
/// Whether grids of shards can be made of what bytes of others say.

namespace reshard {

/// The holder behind the last one of a grid.
///
/// \throws error with errc::bad_layout where two shards have one holder, or there are too many
constexpr index_t end_of_holders(grid_recipe const& grid) {
    constexpr index_t most = std::numeric_limits<std::int32_t>::max(); // as a mesh has
    index_t last = 0;
    for (held_axis const& axis : grid.axes) {
        if (axis.extent < 2 || axis.holder_stride <= last || axis.extent > most ||
            axis.holder_stride > most || axis.extent * axis.holder_stride > most)
            fail(errc::bad_layout, "it has a grid of " + std::to_string(axis.extent) +
                                       " groups of ranks, " + std::to_string(axis.holder_stride) +
                                       " ranks apart, but a group has " + std::to_string(last + 1) +
                                       " ranks");
        last += (axis.extent - 1) * axis.holder_stride;
    }
    return grid.first_holder + last + 1;
}

/// \throws error with errc::bad_layout or errc::overflow where there can be no such tensor, or where holders
///         or placements do not fit
constexpr void validate(grid_recipe const& grid) {
    check_tensor("a grid", data_type::u8, grid.shape);
    end_of_holders(grid); // then no extent is 0
    if (grid.axes.size() > max_ndim)
        fail(errc::bad_layout, "it has a grid of " + std::to_string(grid.axes.size()) +
                                   " axes, of " + std::to_string(max_ndim) + " at most");
    index_vector extents;
    std::vector<placement> placements;
    for (std::size_t i = grid.axes.size(); i-- > 0;) {
        extents.push_back(grid.axes[i].extent);
        placements.push_back(grid.axes[i].how);
    }
    if (find_fault(extents, placements, grid.shape))
        fail(errc::bad_layout,
             "it has placements that do not fit a tensor of shape " + to_string(grid.shape));
}

namespace detail {

/// The elements of the largest box of a grid.
constexpr index_t largest_box(shard_grid const& grid) {
    index_t number = 0;
    for (grid_axis const& axis : grid.axes()) {
        auto const& sizes = axis.how.sizes; // elsewhere the first part is the largest
        auto const most = std::max_element(sizes.begin(), sizes.end());
        if (axis.how.cuts())
            number += (most - sizes.begin()) * axis.part_stride;
    }
    return element_count(grid.box_at(static_cast<std::size_t>(number)));
}

/// The number of ranks that share a box.
///
/// \throws error with errc::bad_layout where the grid does not copy along an axis of them
constexpr index_t count_sharing(shard_grid const& grid, std::vector<std::uint8_t> const& axes) {
    index_t count = 1;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if (axes[i] >= grid.axes().size() || (i > 0 && axes[i] <= axes[i - 1]) ||
            grid.axes()[axes[i]].how.cuts())
            fail(errc::bad_layout, "it has flat slices along axis " + std::to_string(axes[i]) +
                                       " of a grid, which has no copies there");
        count *= grid.axes()[axes[i]].extent;
    }
    return count;
}

} // namespace detail

/// \throws error with errc::bad_layout where slices do not hold the boxes that they are of
constexpr void validate(flat_recipe const& flat) {
    if (!is_sound({flat.offset, flat.grid.shape}))
        fail(errc::bad_layout, "it has a grid of shape " + to_string(flat.grid.shape) +
                                   " at offset " + to_string(flat.offset));
    if (!flat.sharing)
        return;
    shard_grid const grid(flat.grid);
    index_t const count = detail::count_sharing(grid, flat.sharing->axes);
    index_t const elements = detail::largest_box(grid);
    if (!flat.sharing->slices)
        return;
    auto const [begin, length] = *flat.sharing->slices;
    if (begin < 0 || length < 0 || length > std::numeric_limits<index_t>::max() / count ||
        begin > count * length - elements)
        fail(errc::bad_layout, "it has " + std::to_string(elements) + " elements from element " +
                                   std::to_string(begin) + " of a buffer on in " +
                                   std::to_string(count) + " slices of " + std::to_string(length));
}

/// Of a list; whether its grids are apart, the tensor tells that they lie in.
///
/// \throws error with errc::bad_layout where there is none, or where they have different axes
constexpr void validate(std::vector<flat_grid> const& grids) {
    if (grids.empty())
        fail(errc::bad_layout, "it has a list of no grids");
    for (flat_grid const& one : grids)
        if (one.offset().size() != grids[0].offset().size())
            fail(errc::bad_layout, "it has a list of grids at offsets " +
                                       to_string(grids[0].offset()) + " and " +
                                       to_string(one.offset()));
}

} // namespace reshard

#endif
