// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_CATALOG_PARTS_IPP
#define RESHARD_LAYOUT_IMPL_CATALOG_PARTS_IPP

#include <reshard/core/vector.hpp>
#include <reshard/layout/layout.hpp>

#include <reshard/core/axis_runs.hpp>
#include <reshard/core/sorting.hpp>

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>

namespace reshard::detail {

RESHARD_DECL void add_begins(vector<index_t>& begins, box const& region, axis_cycles const& cycles,
                             std::size_t axis) {
    index_t const period = blocks_of(region, cycles, axis).period;
    for (index_t begin = region.offset[axis]; begin < region.end(axis);
         begin += period == 1 ? region.shape[axis] : period)
        begins.push_back(begin);
}

RESHARD_DECL vector<index_t> sorted_once(vector<index_t> numbers) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
}

/// Offsets of parts along an axis: `count` offsets, `step` apart.
struct begin_run {
    index_t first = 0;
    index_t step = 0; ///< 0 for a single offset
    index_t count = 1;

    auto operator<=>(begin_run const&) const = default;
};

/// The distinct offsets of parts along an axis. Offsets of cyclic blocks are stored as one run.
class part_begins {
public:
    explicit part_begins(vector<begin_run> runs) : runs_(std::move(runs)) {
        sort_by(runs_, std::less<>());
        runs_.erase(std::unique(runs_.begin(), runs_.end()), runs_.end());
        if (!are_disjoint())
            list();
    }

    index_t count() const {
        index_t sum = 0;
        for (begin_run const& run : runs_)
            sum += run.count;
        return sum;
    }

    /// True if the parts of an axis of that extent are equal.
    bool are_even(index_t extent) const {
        index_t const parts = count();
        if (parts < 2)
            return true;
        index_t const each = extent / parts;
        // `parts` distinct multiples of `each` are all multiples below `extent`.
        return extent % parts == 0 &&
               std::all_of(runs_.begin(), runs_.end(), [each](begin_run const& run) {
                   return run.first % each == 0 && run.step % each == 0;
               });
    }

private:
    /// True if the steps show that no two runs share an offset. False if the offsets must be
    /// compared.
    bool are_disjoint() const {
        index_t step = 0;
        for (begin_run const& run : runs_)
            step = std::max(step, run.step);
        vector<index_t> firsts;
        for (begin_run const& run : runs_) {
            if (run.step != 0 && run.step != step)
                return false;
            firsts.push_back(step == 0 ? run.first : run.first % step);
        }
        return sorted_once(firsts).size() == runs_.size();
    }

    void list() {
        vector<index_t> begins;
        for (begin_run const& run : runs_)
            for (index_t i = 0; i < run.count; ++i)
                begins.push_back(run.first + i * run.step);
        runs_.clear();
        for (index_t const begin : sorted_once(std::move(begins)))
            runs_.push_back({begin});
    }

    vector<begin_run> runs_; ///< no two runs share an offset
};

/// The offsets of a non-empty region along an axis: one offset, or one for each block.
inline begin_run run_of(box const& region, axis_cycles const& cycles, std::size_t axis) {
    axis_blocks const blocks = blocks_of(region, cycles, axis);
    if (blocks.is_solid())
        return {blocks.begin};
    return {blocks.begin, blocks.period, (region.shape[axis] - 1) / blocks.period + 1};
}

inline vector<begin_run> runs_of(shard_table const& shards, std::size_t axis) {
    vector<begin_run> runs;
    for (std::size_t i = 0; i < shards.size(); ++i)
        if (box const region = shards.region(i); !is_empty(region))
            runs.push_back(run_of(region, shards.cycles(i), axis));
    return runs;
}

inline vector<begin_run> runs_of(shard_grid const& grid, std::size_t axis) {
    grid_axis const* cutting = nullptr;
    std::size_t cuts = 0;
    for (grid_axis const& each : grid.axes())
        if (each.spread.cuts() && each.spread.axis == axis) {
            cutting = &each;
            ++cuts;
        }
    if (cuts == 1 && cutting->spread.type == placement::kind::cyclic &&
        element_count(grid.shape()) > 0) { // every block has a rank
        index_t const block = cutting->spread.block;
        return {{0, block, (grid.shape()[axis] - 1) / block + 1}};
    }
    box line = whole(grid.shape());
    for (std::size_t other = 0; other < grid.ndim(); ++other)
        if (other != axis)
            line.shape[other] = std::min<index_t>(1, line.shape[other]);
    vector<begin_run> runs;
    grid.for_each_overlap(
        line, [&](std::uint32_t, box const& common) { runs.push_back({common.offset[axis]}); });
    return runs;
}

inline vector<begin_run> runs_of(grid_list const& grids, std::size_t axis) {
    vector<begin_run> runs;
    for (flat_grid const& flat_grid : grids.recipe())
        for (begin_run run : runs_of(flat_grid.grid(), axis)) {
            run.first += flat_grid.offset()[axis];
            runs.push_back(run);
        }
    return runs;
}

/// True if a rank of a list has several shards, or a shard that consists of blocks.
inline bool has_several(shard_table const& shards) {
    for (std::size_t i = 0; i < shards.size(); ++i)
        if (!shards.cycles(i).empty() || (i > 0 && shards.holder(i) <= shards.holder(i - 1)))
            return true;
    return false;
}

/// Records the first rank that holds several parts along an axis.
inline void add_held(catalog_entry& entry, std::size_t axis, shard_table const& shards) {
    if (!has_several(shards))
        return;
    vector<std::pair<holder_t, begin_run>> held;
    for (std::size_t i = 0; i < shards.size(); ++i)
        if (box const region = shards.region(i); !is_empty(region))
            held.emplace_back(shards.holder(i), run_of(region, shards.cycles(i), axis));
    sort_by(held, std::less<>());
    for (std::size_t i = 0; i < held.size() && !entry.is_scattered(axis);) {
        holder_t const rank = held[i].first;
        vector<begin_run> runs;
        for (; i < held.size() && held[i].first == rank; ++i)
            runs.push_back(held[i].second);
        add_held(entry, axis, rank, static_cast<std::size_t>(part_begins(runs).count()));
    }
}

/// True if a rank in the middle may hold more parts than the first and the last rank. This happens
/// if the first block belongs to another coordinate than 0, or if an explicit size is 0.
inline bool is_irregular(shard_grid const& grid) {
    return std::any_of(grid.axes().begin(), grid.axes().end(), [](grid_axis const& axis) {
        return axis.spread.coordinate != 0 ||
               std::find(axis.spread.sizes.begin(), axis.spread.sizes.end(), 0) !=
                   axis.spread.sizes.end();
    });
}

inline bool is_irregular(grid_list const& grids) {
    return std::any_of(grids.recipe().begin(), grids.recipe().end(),
                       [](flat_grid const& flat_grid) { return is_irregular(flat_grid.grid()); });
}

/// Does the same for computed shards. Usually, all ranks except the last hold the same number of
/// parts.
inline void add_held(catalog_entry& entry, std::size_t axis, auto const& computed) {
    if (computed.size() == 0)
        return;
    std::size_t const step =
        is_irregular(computed) ? 1 : std::max<std::size_t>(1, computed.size() - 1);
    for (std::size_t shard = 0; shard < computed.size(); shard += step) {
        vector<begin_run> runs;
        computed.for_each_of(computed.holder(shard), [&](std::uint32_t i) {
            if (box const region = computed.region(i); !is_empty(region))
                runs.push_back(run_of(region, computed.cycles(i), axis));
        });
        if (!entry.is_scattered(axis))
            add_held(entry, axis, computed.holder(shard),
                     static_cast<std::size_t>(part_begins(std::move(runs)).count()));
    }
}

RESHARD_DECL catalog_entry entry_of(std::string key, data_type dtype, tensor_spread const& spread) {
    catalog_entry entry{std::move(key), dtype, spread.shape, {}};
    for (std::size_t axis = 0; axis < spread.shape.size(); ++axis)
        std::visit(
            [&](auto const& shards) {
                part_begins const begins(runs_of(shards, axis));
                add_parts(entry, axis, begins.count(), begins.are_even(spread.shape[axis]));
                add_held(entry, axis, shards);
            },
            spread.shards);
    return entry;
}

} // namespace reshard::detail

#endif
