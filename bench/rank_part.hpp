// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_RANK_PART_HPP
#define RESHARD_BENCH_RANK_PART_HPP

#include <reshard/core/index_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

/// \file
/// The elements of an array that a rank holds.

namespace bench {

using reshard::index_t;
using reshard::index_vector;

/// A half-open interval of global indices along one axis.
struct interval {
    index_t begin = 0;
    index_t end = 0;

    index_t size() const { return end - begin; }

    bool operator==(interval const&) const = default;
};

/// The elements that one rank holds, as one dense row-major array: all combinations of the
/// intervals along each axis.
struct rank_part {
    std::vector<std::vector<interval>> axes;

    index_vector shape() const {
        index_vector extents;
        for (auto const& intervals : axes) {
            index_t extent = 0;
            for (interval const& interval : intervals)
                extent += interval.size();
            extents.push_back(extent);
        }
        return extents;
    }

    index_t elements() const { return reshard::element_count(shape()); }

    bool operator==(rank_part const&) const = default;
};

/// No elements, of an array with `ndim` axes.
inline rank_part no_part(std::size_t ndim) { return {std::vector<std::vector<interval>>(ndim)}; }

/// A whole array.
inline rank_part whole_part(index_vector const& shape) {
    rank_part result;
    for (index_t const extent : shape)
        result.axes.push_back({{0, extent}});
    return result;
}

/// Slab `i` of `count` equal slabs along an axis. The other axes are whole.
inline rank_part slab(index_vector const& shape, std::size_t axis, index_t count, index_t i) {
    rank_part result = whole_part(shape);
    result.axes[axis] = {{shape[axis] * i / count, shape[axis] * (i + 1) / count}};
    return result;
}

/// Every `count`-th block of `block` indices, beginning with block `i`.
inline std::vector<interval> cyclic_part(index_t extent, index_t block, index_t count, index_t i) {
    std::vector<interval> intervals;
    for (index_t begin = i * block; begin < extent; begin += count * block)
        intervals.push_back({begin, std::min(begin + block, extent)});
    return intervals;
}

/// A block-cyclic distribution over a grid of ranks in row-major order.
struct block_grid {
    index_vector grid;
    index_vector block;
    index_t first = 0; ///< the rank at the first position of the grid; the others follow

    index_t places() const { return reshard::element_count(grid); }

    /// The position of a rank in the grid; if there are fewer positions than ranks, ranks are
    /// replicas.
    index_t place_of(index_t rank, index_t ranks) const {
        return (rank + ranks - first) % ranks % places();
    }

    rank_part of_rank(index_vector const& shape, index_t rank, index_t ranks) const {
        index_vector const at = reshard::detail::unravel_index(place_of(rank, ranks), grid);
        rank_part rank_part;
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
            rank_part.axes.push_back(cyclic_part(shape[axis], block[axis], grid[axis], at[axis]));
        return rank_part;
    }
};

/// One block for each position of a grid, all equal, except that the last blocks may be shorter.
inline block_grid blocks(index_vector const& shape, index_vector const& grid) {
    index_vector block;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        block.push_back((shape[axis] + grid[axis] - 1) / grid[axis]);
    return {grid, block};
}

} // namespace bench

#endif
