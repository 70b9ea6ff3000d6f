// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_CUT_TRANSFER_HPP
#define RESHARD_MPI_CUT_TRANSFER_HPP

#include <reshard/plan/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>

/// \file
/// Cuts transfers into pieces that each move at once.

namespace reshard::detail {

/// Cuts the outermost extents until each box has at most `limit` elements; calls `take(box)` in
/// order.
inline void cut_to_size(box const& region, index_t limit, box_visitor take) {
    std::size_t axis = 0;
    while (axis < region.ndim() && region.shape[axis] == 1)
        ++axis;
    if (axis == region.ndim() || element_count(region) <= limit)
        return take(region);
    index_t const row = element_count(region) / region.shape[axis];
    index_t const rows = std::max<index_t>(1, limit / row);
    for (index_t first = 0; first < region.shape[axis]; first += rows) {
        box slab = region;
        slab.offset[axis] += first;
        slab.shape[axis] = std::min(rows, region.shape[axis] - first);
        cut_to_size(slab, limit, take);
    }
}

/// Two axes of a copy: the source is contiguous along `source_last`, and the target along `last`.
struct transposed_axes {
    std::size_t source_last;
    std::size_t last;
};

/// The transposed axes of a copy, or std::nullopt if source and target are contiguous along the
/// same axis. Axes with one element do not count.
constexpr std::optional<transposed_axes> find_transposed_axes(cut const& geometry) {
    index_vector const extent = geometry.loop_extent(), order = geometry.source_order();
    std::size_t const ndim = extent.size();
    std::size_t fastest = ndim, last = ndim; // axes of the target; `ndim` until found
    for (std::size_t axis = 0; axis < ndim; ++axis) {
        if (extent[axis] <= 1)
            continue;
        last = axis;
        if (fastest == ndim || order[axis] > order[fastest])
            fastest = axis;
    }
    return fastest == last ? std::nullopt : std::optional(transposed_axes{fastest, last});
}

/// Cuts a box into blocks of two axes, as square as possible, for every position along the other
/// axes.
inline void cut_to_blocks(box const& region, transposed_axes const& axes, index_t limit,
                          box_visitor take) {
    auto const [source_last, last] = axes;
    index_t side = 1;
    while (4 * side * side <= limit)
        side *= 2;
    index_t const across =
        std::min(region.shape[source_last], std::max(side, limit / region.shape[last]));
    index_t const along = std::min(region.shape[last], std::max<index_t>(1, limit / across));
    auto const cut_at = [&](auto const& self, std::size_t axis, box const& block) -> void {
        if (axis == region.ndim())
            return take(block);
        index_t const step = axis == axes.source_last ? across : axis == axes.last ? along : 1;
        for (index_t first = 0; first < region.shape[axis]; first += step) {
            box next = block;
            next.offset[axis] = region.offset[axis] + first;
            next.shape[axis] = std::min(step, region.shape[axis] - first);
            self(self, axis + 1, next);
        }
    };
    cut_at(cut_at, 0, region);
}

/// Cuts a transfer into boxes of its extent of at most `limit` elements; calls `take(box)` for
/// each.
///
/// If the copy transposes axes, pieces are blocks that are long on both sides: a row of the target
/// alone would read the source a few bytes at a time. A pure function of the geometry, so both ends
/// compute the same pieces.
inline void cut_transfer(cut const& geometry, index_t limit, box_visitor take) {
    box const box = whole(geometry.loop_extent());
    auto const axes = find_transposed_axes(geometry);
    if (!axes || element_count(box) <= limit ||
        box.shape[axes->source_last] * box.shape[axes->last] <= limit)
        return cut_to_size(box, limit, take);
    cut_to_blocks(box, *axes, limit, take);
}

} // namespace reshard::detail

#endif
