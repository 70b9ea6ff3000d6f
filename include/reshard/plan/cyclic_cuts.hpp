// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_CYCLIC_CUTS_HPP
#define RESHARD_PLAN_CYCLIC_CUTS_HPP

#include <reshard/core/axis_runs.hpp>
#include <reshard/expr/piece.hpp>
#include <reshard/plan/pattern.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

/// \file
/// What two shards have in common if blocks are dealt out to one of them: by arithmetic, whatever
/// the number of blocks.

namespace reshard::detail {

/// Splits runs that repeat into separate ones.
constexpr std::vector<axis_runs> one_by_one(std::vector<axis_runs> const& runs) {
    std::vector<axis_runs> each;
    for (axis_runs const& run : runs)
        for (index_t i = 0; i < run.count; ++i)
            each.push_back({run.first + i * run.step, run.length, 1, 0});
    return each;
}

/// Calls `take(cut)` for each cut of a piece between a shard of its source and one of its target.
///
/// \param source a shard's region, with the axes along which it is blocks
/// \pre   the piece has no joins
constexpr void cut_cyclic(piece const& piece, box const& target, axis_cycles const& target_cycles,
                          box const& source, axis_cycles const& source_cycles, auto&& take) {
    std::size_t const ndim = piece.extent.size();
    std::array<std::vector<axis_runs>, max_ndim> runs;
    std::size_t loops = ndim;
    for (std::size_t axis = 0; axis < ndim; ++axis) {
        index_t const shift = piece.target_offset[axis] - piece.source_offset[piece.order[axis]];
        axis_blocks given = blocks_of(source, source_cycles, piece.order[axis]);
        given.begin += shift;
        given.end += shift;
        axis_blocks const limits{piece.target_offset[axis],
                                 piece.target_offset[axis] + piece.extent[axis]};
        runs[axis] = common_runs(blocks_of(target, target_cycles, axis), given, limits).found();
        if (runs[axis].empty())
            return;
        bool const repeats = std::any_of(runs[axis].begin(), runs[axis].end(),
                                         [](axis_runs const& run) { return run.count > 1; });
        if (repeats && ++loops > max_ndim)
            runs[axis] = one_by_one(runs[axis]);
    }
    index_vector counts;
    for (std::size_t axis = 0; axis < ndim; ++axis)
        counts.push_back(static_cast<index_t>(runs[axis].size()));
    index_t const cuts = element_count(counts);
    for (index_t number = 0; number < cuts; ++number) {
        index_vector const at = unravel_index(number, counts);
        index_vector const zeros = index_vector::filled(ndim, 0);
        cut geometry{piece.order, zeros, zeros, zeros};
        axis_repeats repeats{zeros, zeros};
        bool any = false;
        for (std::size_t axis = 0; axis < ndim; ++axis) {
            axis_runs const& run = runs[axis][static_cast<std::size_t>(at[axis])];
            geometry.target_offset[axis] = run.first;
            geometry.source_offset[piece.order[axis]] =
                run.first - piece.target_offset[axis] + piece.source_offset[piece.order[axis]];
            geometry.extent[axis] = run.length;
            repeats.count[axis] = run.count;
            repeats.step[axis] = run.step;
            any = any || run.count > 1;
        }
        if (any)
            geometry.repeats = repeats;
        take(geometry);
    }
}

} // namespace reshard::detail

#endif
