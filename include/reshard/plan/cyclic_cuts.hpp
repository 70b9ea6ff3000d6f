// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_CYCLIC_CUTS_HPP
#define RESHARD_PLAN_CYCLIC_CUTS_HPP

#include <reshard/core/axis_runs.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/piece.hpp>
#include <reshard/plan/pattern.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

/// \file
/// The common elements of two shards if one of them is block-cyclic. They are computed by
/// arithmetic, in a time that does not depend on the number of blocks.

namespace reshard::detail {

/// Splits each repeated run into single runs with the same times and period.
constexpr vector<axis_runs> one_by_one(vector<axis_runs> const& runs) {
    vector<axis_runs> each;
    for (axis_runs const& run : runs)
        for (index_t i = 0; i < run.count; ++i)
            each.push_back({run.first + i * run.step, run.length, run.times, run.period});
    return each;
}

/// The runs of each axis of a target.
using runs_by_axis = std::array<vector<axis_runs>, max_ndim>;

/// The elements along an axis that a piece copies from a source shard to a target shard.
constexpr vector<axis_runs> runs_along(std::size_t axis, piece const& piece,
                                       axis_blocks const& target, axis_blocks source) {
    index_t const shift = piece.target_offset[axis] - piece.source_offset[piece.order[axis]];
    source.begin += shift;
    source.end += shift;
    axis_blocks const limits{piece.target_offset[axis],
                             piece.target_offset[axis] + piece.extent[axis]};
    return common_runs(target, source, limits).found();
}

/// The most loops over boxes that a run of an axis needs.
constexpr std::size_t loops_over(vector<axis_runs> const& runs) {
    std::size_t most = 0;
    for (axis_runs const& run : runs)
        most = std::max(most, std::size_t{run.count > 1} + std::size_t{run.times > 1});
    return most;
}

/// Splits runs until the loops of all axes fit a cut.
constexpr void limit_loops(runs_by_axis& runs, std::size_t ndim) {
    bool const has_numbers = 2 * ndim <= max_ndim; // room for two loops along an axis
    std::size_t room = max_ndim - ndim;
    for (std::size_t axis = 0; axis < ndim; ++axis) {
        std::size_t others = 0; // later axes that need a loop
        for (std::size_t later = axis + 1; later < ndim; ++later)
            others += loops_over(runs[later]) > 0;
        std::size_t const most =
            std::min<std::size_t>(room, has_numbers && room >= others + 2 ? 2 : 1);
        while (loops_over(runs[axis]) > most)
            runs[axis] = one_by_one(runs[axis]);
        room -= loops_over(runs[axis]);
    }
}

/// The cut of one run along each axis.
constexpr cut cut_of(piece const& piece, runs_by_axis const& runs, index_vector const& at) {
    index_vector const zeros = index_vector::filled(at.size(), 0);
    cut geometry{piece.order, zeros, zeros, zeros};
    axis_repeats repeats{zeros, zeros};
    index_vector times, periods;
    bool any = false, any_twice = false;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
        axis_runs const& run = runs[axis][static_cast<std::size_t>(at[axis])];
        geometry.target_offset[axis] = run.first;
        geometry.source_offset[piece.order[axis]] =
            run.first - piece.target_offset[axis] + piece.source_offset[piece.order[axis]];
        geometry.extent[axis] = run.length;
        repeats.count[axis] = run.count;
        repeats.step[axis] = run.step;
        times.push_back(run.times);
        periods.push_back(run.period);
        any = any || run.count > 1;
        any_twice = any_twice || run.times > 1;
    }
    for (std::size_t axis = 0; any_twice && axis < at.size(); ++axis) {
        repeats.count.push_back(times[axis]);
        repeats.step.push_back(periods[axis]);
    }
    if (any)
        geometry.repeats = repeats;
    return geometry;
}

/// Calls `take(cut)` for each cut of a piece between a source shard and a target shard.
///
/// \param source a shard's region; its cycles say along which axes it is block-cyclic
/// \pre   the piece has no joins
constexpr void cut_cyclic(piece const& piece, box const& target, axis_cycles const& target_cycles,
                          box const& source, axis_cycles const& source_cycles,
                          function_ref<void(cut const&)> take) {
    runs_by_axis runs;
    index_vector counts;
    for (std::size_t axis = 0; axis < piece.extent.size(); ++axis) {
        runs[axis] = runs_along(axis, piece, blocks_of(target, target_cycles, axis),
                                blocks_of(source, source_cycles, piece.order[axis]));
        if (runs[axis].empty())
            return;
    }
    limit_loops(runs, piece.extent.size());
    for (std::size_t axis = 0; axis < piece.extent.size(); ++axis)
        counts.push_back(static_cast<index_t>(runs[axis].size()));
    index_t const cuts = element_count(counts);
    for (index_t number = 0; number < cuts; ++number)
        take(cut_of(piece, runs, unravel_index(number, counts)));
}

} // namespace reshard::detail

#endif
