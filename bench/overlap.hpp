// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_OVERLAP_HPP
#define RESHARD_BENCH_OVERLAP_HPP

#include "cases.hpp"

#include <algorithm>
#include <vector>

/// \file
/// What one rank has and another wants, as the hand-written baselines see it: run by run along each axis.

namespace bench {

/// Indices that are consecutive on both sides, by their places in the two local arrays.
struct shared_run {
    index_t source = 0;
    index_t target = 0;
    index_t length = 0;
};

/// The runs that two lists of intervals share, in ascending order.
inline std::vector<shared_run> shared_runs(std::vector<interval> const& source,
                                           std::vector<interval> const& target) {
    std::vector<shared_run> runs;
    index_t source_place = 0, target_place = 0;
    for (std::size_t i = 0, j = 0; i < source.size() && j < target.size();) {
        index_t const begin = std::max(source[i].begin, target[j].begin);
        index_t const end = std::min(source[i].end, target[j].end);
        if (begin < end)
            runs.push_back({source_place + begin - source[i].begin,
                            target_place + begin - target[j].begin, end - begin});
        if (source[i].end <= target[j].end)
            source_place += source[i++].size();
        else
            target_place += target[j++].size();
    }
    return runs;
}

/// The elements that rank `giver` gives rank `taker`, in the order of the source's axes.
struct overlap {
    std::vector<std::vector<shared_run>> axes; ///< by source axis
    index_vector source_strides;               ///< of the local arrays, by source axis
    index_vector target_strides;

    overlap(redistribution_case const& moved, int giver, int taker) {
        rank_part const& source = moved.source[static_cast<std::size_t>(giver)];
        rank_part const& target = moved.target[static_cast<std::size_t>(taker)];
        source_strides = reshard::row_major_strides(source.shape());
        target_strides = moved.order.undo(reshard::row_major_strides(target.shape()));
        axes.resize(source.axes.size());
        for (std::size_t j = 0; j < axes.size() && moved.serves(giver, taker); ++j)
            axes[moved.order[j]] = shared_runs(source.axes[moved.order[j]], target.axes[j]);
    }

    index_t extent(std::size_t axis) const {
        index_t sum = 0;
        for (shared_run const& run : axes[axis])
            sum += run.length;
        return sum;
    }

    index_vector shape() const {
        index_vector extents;
        for (std::size_t axis = 0; axis < axes.size(); ++axis)
            extents.push_back(extent(axis));
        return extents;
    }

    index_t elements() const { return reshard::element_count(shape()); }

    bool is_box() const {
        return std::all_of(axes.begin(), axes.end(),
                           [](auto const& runs) { return runs.size() == 1; });
    }

    /// True where the elements lie in one piece, in order, on that side.
    bool is_dense(index_vector const& strides) const {
        return elements() == 0 || (is_box() && reshard::is_row_major(shape(), strides));
    }

    /// The place of the first element of a box in its local array.
    index_t first_place(index_t shared_run::*side, index_vector const& strides) const {
        index_t place = 0;
        for (std::size_t axis = 0; axis < axes.size() && elements() > 0; ++axis)
            place += axes[axis].front().*side * strides[axis];
        return place;
    }
};

/// Calls `visit(source_place, target_place)` for every index of the axes before `axis`, in order.
template <class Visit>
void for_each_outer(overlap const& shared, std::size_t axes, Visit const& visit, index_t source = 0,
                    index_t target = 0, std::size_t axis = 0) {
    if (axis == axes)
        return visit(source, target);
    for (shared_run const& run : shared.axes[axis])
        for (index_t i = 0; i < run.length; ++i)
            for_each_outer(shared, axes, visit,
                           source + (run.source + i) * shared.source_strides[axis],
                           target + (run.target + i) * shared.target_strides[axis], axis + 1);
}

} // namespace bench

#endif
