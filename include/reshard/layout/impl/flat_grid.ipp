// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_FLAT_GRID_IPP
#define RESHARD_LAYOUT_IMPL_FLAT_GRID_IPP

#include <reshard/core/vector.hpp>
#include <reshard/layout/flat_grid.hpp>

#include <reshard/layout/descriptor.hpp>
#include <reshard/layout/distribution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace reshard::detail {

RESHARD_DECL index_t end_of_holders(grid_recipe const& grid) {
    constexpr index_t most = std::numeric_limits<std::int32_t>::max(); // the limit of a mesh
    index_t last = 0;
    for (held_axis const& axis : grid.axes) {
        if (axis.extent < 2 || axis.holder_stride <= last || axis.extent > most ||
            axis.holder_stride > most || axis.extent * axis.holder_stride > most)
            fail(errc::bad_layout, "it has a grid of ", counted(axis.extent, "group"), " of ",
                 counted(last + 1, "rank"), ", ", counted(axis.holder_stride, "rank"),
                 " apart; a grid has 2 or more groups that do not overlap, on ranks up to ", most);
        last += (axis.extent - 1) * axis.holder_stride;
    }
    return grid.first_holder + last + 1;
}

RESHARD_DECL void validate(grid_recipe const& grid) {
    check_tensor("a grid", data_type::u8, grid.shape);
    end_of_holders(grid); // throws if an extent is 0
    if (grid.axes.size() > max_ndim)
        fail(errc::bad_layout, "it has a grid of ", counted(grid.axes.size(), "axis"), "; at most ",
             max_ndim, " are allowed");
    index_vector extents;
    vector<placement> placements;
    for (std::size_t i = grid.axes.size(); i-- > 0;) {
        extents.push_back(grid.axes[i].extent);
        placements.push_back(grid.axes[i].spread);
    }
    if (find_fault(extents, placements, grid.shape))
        fail(errc::bad_layout, "it has placements that do not fit a tensor of shape ", grid.shape);
}

/// The number of elements in the largest box of a grid.
inline index_t largest_box(shard_grid const& grid) {
    index_t number = 0;
    for (grid_axis const& axis : grid.axes()) {
        auto const& sizes = axis.spread.sizes; // without sizes, the first part is the largest
        auto const most = std::max_element(sizes.begin(), sizes.end());
        if (axis.spread.cuts())
            number += (most - sizes.begin()) * axis.part_stride;
    }
    return element_count(grid.box_at(static_cast<std::size_t>(number)));
}

/// The number of ranks that share a box.
///
/// \throws error with errc::bad_layout if the grid does not replicate along one of the axes
inline index_t count_sharing(shard_grid const& grid, vector<std::uint8_t> const& axes) {
    index_t count = 1;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if (axes[i] >= grid.axes().size() || (i > 0 && axes[i] <= axes[i - 1]) ||
            grid.axes()[axes[i]].spread.cuts())
            fail(errc::bad_layout, "it has flat slices along axis ", axes[i],
                 " of a grid; slices need axes of the grid that replicate, in ascending order");
        count *= grid.axes()[axes[i]].extent;
    }
    return count;
}

RESHARD_DECL void validate(flat_recipe const& flat) {
    if (!is_sound({flat.offset, flat.grid.shape}))
        fail(errc::bad_layout, "it has a grid of shape ", flat.grid.shape, " at offset ",
             flat.offset);
    if (!flat.sharing)
        return;
    for (held_axis const& axis : flat.grid.axes)
        if (axis.spread.type == placement::kind::cyclic)
            fail(errc::bad_layout, "it has flat slices of cyclic blocks (", axis.spread, ")");
    shard_grid const grid(flat.grid);
    index_t const count = count_sharing(grid, flat.sharing->axes);
    index_t const elements = largest_box(grid);
    if (!flat.sharing->slices)
        return;
    auto const [begin, length] = *flat.sharing->slices;
    if (begin < 0 || length < 0 || length > std::numeric_limits<index_t>::max() / count ||
        begin > count * length - elements)
        fail(errc::bad_layout, "it has ", count, " slices of ", counted(length, "element"),
             " that do not hold ", counted(elements, "element"), " from element ", begin, " on");
}

RESHARD_DECL void validate(vector<flat_grid> const& grids) {
    if (grids.empty())
        fail(errc::bad_layout, "it has an empty list of grids");
    for (flat_grid const& flat_grid : grids)
        if (flat_grid.offset().size() != grids[0].offset().size())
            fail(errc::bad_layout, "it has a list of grids at offsets ", grids[0].offset(), " and ",
                 flat_grid.offset());
}

} // namespace reshard::detail

#endif
