// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_SHARD_RUNS_HPP
#define RESHARD_TENSOR_SHARD_RUNS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/tensor/traits.hpp>

#include <cstddef>
#include <span>

/// \file
/// Runs: shards at equal distances in their tensor and in memory.

namespace reshard {

struct shard_descriptor;

namespace detail {

/// Shards at equal distances along one axis of the tensor, and at equal distances in memory. The
/// last one may be shorter along the axis.
struct shard_step {
    std::size_t axis = 0;
    index_t count = 2;
    index_t distance = 0; ///< between shards in the tensor, in elements along the axis
    index_t last = 0;     ///< the extent of the last shard along the axis
    index_t bytes = 0;    ///< between shards in memory
    /// False if one stride leads from element to element of all shards. True if another stride
    /// leads from shard to shard, as in a matrix of tiles; then all have the same extents.
    bool is_tiled = false;

    constexpr bool operator==(shard_step const&) const = default;
};

/// The steps of a run along different axes, the innermost first. A run without steps is one shard.
using shard_steps = vector<shard_step>;

/// The properties of a shard that decide whether it belongs to an array.
struct array_shard {
    shard_descriptor const& descriptor;
    void const* data;
    data_type dtype;
    index_vector const& shape;
    index_vector const& strides;
    memory_space memory;
};

/// Finds runs: shards of equal extents, at equal distances in their tensor and in memory. The
/// blocks of a block-cyclic array are one run if they are added row by row or column by column,
/// without other shards between them. So are tiles of equal extents that lie one after the other.
class run_finder {
public:
    /// The steps of run `i`.
    std::span<shard_step const> steps(std::size_t i) const {
        if (i < steps_.size())
            return {steps_[i].begin(), steps_[i].end()};
        return {};
    }

    /// False if each run is one shard.
    bool any() const { return !steps_.empty(); }

    /// Adds `next` to the last run, if it continues it.
    ///
    /// \param runs the number of runs, at least 1
    /// \param last the first shard of the last run, which passes `check`
    /// \post  if the result is true, `next` passes `check`
    RESHARD_DECL bool extend(std::size_t runs, array_shard const& last, array_shard const& next);

    /// Joins the last two runs if both are one array, or tiles at one distance.
    ///
    /// \param before the first shard of the run before the last
    /// \pre   there are two runs, and `extend` has returned true
    RESHARD_DECL bool fold(array_shard const& before, array_shard const& last);

    /// True if the last run is two tiles.
    bool ends_in_two_tiles(std::size_t runs) const {
        return steps_.size() == runs && steps_.back().size() == 1 && steps_.back()[0].is_tiled &&
               steps_.back()[0].count == 2;
    }

    /// Leaves one shard of the last run.
    ///
    /// \pre `ends_in_two_tiles`
    void part() { steps_.pop_back(); }

    bool operator==(run_finder const&) const = default;

private:
    vector<shard_steps> steps_; ///< by run; runs without steps at the end are missing
};

/// True if two shards are one array, `b` after `a`.
RESHARD_DECL bool are_one_array(array_shard const& a, array_shard const& b);

/// Adds the other shards of a step to the first. If the step is tiled, `shape` and `strides` become
/// an array with two axes for each axis of the region: first all axes over blocks, then all axes
/// over the elements of a block. If all blocks along an axis are one array, its axis over blocks
/// has the extent 1.
///
/// \param dtype of the elements in memory
/// \pre the step belongs to the shard's run
RESHARD_DECL void join_step(shard_descriptor& descriptor, index_vector& shape,
                            index_vector& strides, shard_step const& step, data_type dtype);

/// The number of shards of a run.
constexpr index_t count_of(std::span<shard_step const> steps) {
    index_t count = 1;
    for (shard_step const& step : steps)
        count *= step.count;
    return count;
}

/// A run of fewer tiles is not joined: other ranks may have the same tiles at other distances, and
/// it takes little time to plan few tiles.
inline constexpr index_t least_tiles = 32;

/// Changes the first shard of a run to shard `number`. Returns the bytes between the two.
RESHARD_DECL index_t move_in_run(shard_descriptor& descriptor, index_vector& shape,
                                 std::span<shard_step const> steps, index_t number);

/// The steps, the nearest in memory first.
RESHARD_DECL shard_steps nearest_first(std::span<shard_step const> steps);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/tensor/impl/shard_runs.ipp>
#endif

#endif
