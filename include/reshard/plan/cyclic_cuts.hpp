// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_CYCLIC_CUTS_HPP
#define RESHARD_PLAN_CYCLIC_CUTS_HPP

#include <reshard/core/box.hpp>
#include <reshard/expr/piece.hpp>
#include <reshard/plan/pattern.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

/// \file
/// What two shards have in common if blocks are dealt out to one of them: by arithmetic, whatever
/// the number of blocks.

namespace reshard::detail {

/// The part of an axis that a shard has: blocks, the first of which begins the interval.
///
/// \par Units elements
struct axis_blocks {
    index_t begin = 0;
    index_t end = 0;
    index_t block = 1;
    index_t period = 1; ///< 1: all of the interval

    constexpr bool is_solid() const { return period == 1; }
};

/// The blocks of an axis of a region.
constexpr axis_blocks blocks_of(box const& region, axis_cycles const& cycles, std::size_t axis) {
    axis_blocks blocks{region.offset[axis], region.end(axis)};
    for (axis_cycle const& cycle : cycles)
        if (cycle.axis == axis) {
            blocks.block = cycle.block;
            blocks.period = cycle.period;
        }
    return blocks;
}

/// Runs of elements of an axis, all of the same length, `step` apart.
struct axis_runs {
    index_t first = 0;
    index_t length = 0;
    index_t count = 1;
    index_t step = 0;
};

/// Finds the elements of an axis that two sides have in common.
class common_runs {
public:
    /// \param limits the elements that count
    constexpr common_runs(axis_blocks const& a, axis_blocks const& b, axis_blocks const& limits)
        : low_(std::max({a.begin, b.begin, limits.begin})),
          high_(std::min({a.end, b.end, limits.end})) {
        if (low_ >= high_)
            return;
        if (a.is_solid() && b.is_solid()) {
            put(low_, high_ - low_, 1, 0);
            return;
        }
        axis_blocks const& outer = a.is_solid() ? b : a;
        axis_blocks const& inner = a.is_solid() ? a : b;
        index_t const periods = outer.period / std::gcd(outer.period, inner.period);
        // The period of both together; longer than the axis: nothing repeats.
        index_t const period = inner.period > (high_ - low_) / periods + 1
                                   ? high_ - low_ + outer.period
                                   : inner.period * periods;
        index_t const window = low_ - (low_ - outer.begin) % outer.period;
        for (index_t at = window; at < std::min(high_, window + period); at += outer.period)
            add_block(at, at + outer.block, inner, period);
    }

    constexpr std::vector<axis_runs> found() && { return std::move(found_); }

private:
    /// Adds the elements that a block of one side shares with blocks of the other side, and their
    /// repetitions.
    constexpr void add_block(index_t begin, index_t end, axis_blocks const& inner, index_t period) {
        if (inner.is_solid())
            return add(begin, end, period);
        index_t const past = begin - inner.begin;
        index_t const periods = past >= 0 ? past / inner.period : -((-past - 1) / inner.period) - 1;
        for (index_t at = inner.begin + periods * inner.period; at < end; at += inner.period)
            if (std::max(begin, at) < std::min(end, at + inner.block))
                add(std::max(begin, at), std::min(end, at + inner.block), period);
    }

    /// Adds a run and its repetitions, cut to the limits: the first one and the last one may be
    /// shorter.
    constexpr void add(index_t begin, index_t end, index_t period) {
        index_t const length = end - begin;
        if (begin < low_) {
            put(low_, std::min(end, high_) - low_, 1, 0);
            begin += period;
        }
        if (begin >= high_)
            return;
        index_t count = (high_ - 1 - begin) / period + 1;
        index_t const last = begin + (count - 1) * period;
        bool const is_cut = last + length > high_;
        count -= is_cut;
        put(begin, length, count, count > 1 ? period : 0);
        if (is_cut)
            put(last, high_ - last, 1, 0);
    }

    constexpr void put(index_t first, index_t length, index_t count, index_t step) {
        if (length > 0 && count > 0)
            found_.push_back({first, length, count, step});
    }

    index_t low_;
    index_t high_;
    std::vector<axis_runs> found_;
};

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
