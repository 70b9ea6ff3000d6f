// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_AXIS_RUNS_HPP
#define RESHARD_CORE_AXIS_RUNS_HPP

#include <reshard/core/box.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

/// \file
/// The elements that two regions have in common if at least one of them consists of blocks.

namespace reshard::detail {

/// The elements of an axis that a shard holds: blocks, the first of which begins at `begin`.
///
/// \par Units elements
struct axis_blocks {
    index_t begin = 0;
    index_t end = 0;
    index_t block = 1;
    index_t period = 1; ///< 1: every element of the interval

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

/// Runs of elements of an axis, all of the same length: `count` runs, `step` elements apart. The
/// whole group repeats `times` times, `period` elements apart.
struct axis_runs {
    index_t first = 0;
    index_t length = 0;
    index_t count = 1;
    index_t step = 0;
    index_t times = 1; ///< 1 if `count` is 1
    index_t period = 0;

    constexpr index_t elements() const { return length * count * times; }
};

/// Finds the elements of an axis that two sides have in common.
class common_runs {
public:
    /// \param limits    only elements within these limits are returned
    /// \param by_period if true, iterates over the blocks with the longer period, which are the
    ///                  fewest; if false, over the longer blocks, which give the most regular runs
    constexpr common_runs(axis_blocks const& a, axis_blocks const& b, axis_blocks const& limits,
                          bool by_period = false)
        : low_(std::max({a.begin, b.begin, limits.begin})),
          high_(std::min({a.end, b.end, limits.end})) {
        if (low_ >= high_)
            return;
        if (a.is_solid() && b.is_solid()) {
            put({low_, high_ - low_});
            return;
        }
        bool const a_is_inner =
            a.is_solid() ||
            (!b.is_solid() && (by_period ? a.period < b.period : a.block < b.block));
        axis_blocks const& outer = a_is_inner ? b : a;
        axis_blocks const& inner = a_is_inner ? a : b;
        index_t const periods = outer.period / std::gcd(outer.period, inner.period);
        // The common period of both sides. If it is longer than the axis, nothing repeats.
        index_t const period = inner.period > (high_ - low_) / periods + 1
                                   ? high_ - low_ + outer.period
                                   : inner.period * periods;
        index_t const window = low_ - (low_ - outer.begin) % outer.period;
        if ((std::min(high_, window + period) - window) / outer.period > most_runs)
            fail(errc::limit_exceeded, "blocks with periods ", outer.period, " and ", inner.period,
                 " share more than ", most_runs, " runs along an axis");
        for (index_t at = window; at < std::min(high_, window + period); at += outer.period)
            add_block(at, at + outer.block, inner, period);
    }

    constexpr vector<axis_runs> found() && { return std::move(found_); }

private:
    /// Adds the elements that a block of one side shares with blocks of the other side, and all
    /// repetitions of these elements.
    constexpr void add_block(index_t begin, index_t end, axis_blocks const& inner, index_t period) {
        if (inner.is_solid())
            return add({begin, end - begin}, period);
        index_t const past = begin - inner.begin;
        index_t const periods = past >= 0 ? past / inner.period : -((-past - 1) / inner.period) - 1;
        index_t at = inner.begin + periods * inner.period;
        if (at < begin) {
            if (at + inner.block > begin)
                add({begin, std::min(end, at + inner.block) - begin}, period);
            at += inner.period;
        }
        if (at + inner.block <= end) {
            index_t const count = (end - inner.block - at) / inner.period + 1;
            add({at, inner.block, count, inner.period}, period);
            at += count * inner.period;
        }
        if (at < end)
            add({at, end - at}, period);
    }

    /// Adds runs and their repetitions, cut to the limits. The first and the last repetition may be
    /// shorter.
    constexpr void add(axis_runs line, index_t period) {
        index_t const span = (line.count - 1) * line.step + line.length;
        if (line.first < low_) {
            put_within_limits(line);
            line.first += period;
        }
        if (line.first >= high_)
            return;
        axis_runs last = line;
        line.times = (high_ - 1 - line.first) / period + 1;
        line.period = period;
        last.first += (line.times - 1) * period;
        bool const is_cut = last.first + span > high_;
        line.times -= is_cut;
        put(line);
        if (is_cut)
            put_within_limits(last);
    }

    /// Adds runs that do not repeat, and cuts those that exceed the limits.
    constexpr void put_within_limits(axis_runs const& line) {
        index_t const step = std::max<index_t>(1, line.step);
        index_t const before = low_ - line.first - line.length;
        index_t i = before < 0 ? 0 : before / step + 1;
        if (i < line.count && line.first + i * step < low_) {
            put({low_, std::min(line.first + i * step + line.length, high_) - low_});
            ++i;
        }
        index_t const room = high_ - line.length - (line.first + i * step);
        index_t const whole_runs = room < 0 ? 0 : std::min(line.count - i, room / step + 1);
        put({line.first + i * step, line.length, whole_runs, line.step});
        i += std::max<index_t>(0, whole_runs);
        if (i < line.count)
            put({line.first + i * step, high_ - (line.first + i * step)});
    }

    constexpr void put(axis_runs runs) {
        if (runs.length <= 0 || runs.count <= 0 || runs.times <= 0)
            return;
        if (runs.count == 1) {
            runs.count = std::exchange(runs.times, 1);
            runs.step = runs.period;
        }
        if (runs.count == 1)
            runs.step = 0;
        if (runs.times == 1)
            runs.period = 0;
        found_.push_back(runs);
    }

    /// Each run takes memory. Only layouts of no practical use have more runs than this.
    static constexpr index_t most_runs = index_t{1} << 24;

    index_t low_;
    index_t high_;
    vector<axis_runs> found_;
};

/// The number of elements that two regions have in common. Either region may consist of blocks
/// along some axes.
///
/// \pre both have the same number of axes
constexpr index_t common_elements(box const& a, axis_cycles const& a_cycles, box const& b,
                                  axis_cycles const& b_cycles) {
    index_t count = 1;
    for (std::size_t axis = 0; count > 0 && axis < a.ndim(); ++axis) {
        axis_blocks const given = blocks_of(a, a_cycles, axis);
        index_t along = 0;
        for (axis_runs const& run :
             common_runs(given, blocks_of(b, b_cycles, axis), given, true).found())
            along += run.elements();
        count *= along;
    }
    return count;
}

/// Calls `visit(part)` for the intersection of each block of a region with `wanted`, in row-major
/// order.
///
/// \pre the region contains `wanted`
template <class Visit>
constexpr void for_each_common_block(box const& region, axis_cycles const& cycles,
                                     box const& wanted, Visit&& visit) {
    box near = region; // the blocks that may have elements of `wanted`
    for (axis_cycle const& cycle : cycles) {
        index_t& offset = near.offset[cycle.axis];
        index_t const skipped = (wanted.offset[cycle.axis] - offset) / cycle.period * cycle.period;
        offset += skipped;
        near.shape[cycle.axis] =
            std::min(near.shape[cycle.axis] - skipped, wanted.end(cycle.axis) - offset);
    }
    for_each_block(near, cycles, [&](box const& block) {
        if (auto const common = intersect(block, wanted))
            visit(*common);
    });
}

} // namespace reshard::detail

#endif
