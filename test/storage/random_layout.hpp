// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_STORAGE_RANDOM_LAYOUT_HPP
#define RESHARD_TEST_STORAGE_RANDOM_LAYOUT_HPP

#include <reshard/layout/layout.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

/// \file
/// Tensors cut in every way that a layout can say, from a seed.

namespace reshard::test {

using namespace reshard::detail;

/// The shards of each rank.
using rank_shards = std::vector<std::vector<shard_descriptor>>;

/// Numbers that are the same on every rank and every machine.
class dice {
public:
    explicit dice(unsigned seed) : numbers_(seed) {}

    /// From 0 to `count - 1`.
    index_t below(index_t count) { return static_cast<index_t>(numbers_()) % count; }

private:
    std::mt19937 numbers_;
};

/// Some tensors: scalars, zero extents, and elements smaller than a byte among them.
inline std::vector<shard_descriptor> random_tensors(unsigned seed) {
    dice some(seed);
    std::vector<shard_descriptor> tensors;
    index_t const count = 1 + some.below(5);
    for (index_t i = 0; i < count; ++i) {
        auto dtype =
            static_cast<data_type>(some.below(index_t{data_type_count} - 1)); // not complex128
        index_vector shape;
        for (index_t axis = some.below(5); axis > 0; --axis)
            shape.push_back(some.below(8) == 0 ? 0 : 1 + some.below(6));
        if (bits(dtype) < 8)
            shape.push_back(4 * (1 + some.below(3)));
        tensors.push_back({"tensor." + std::to_string(i), dtype, shape, whole(shape), {}});
    }
    return tensors;
}

/// The same for whole files of safetensors, which have no elements of 6 bits.
inline std::vector<shard_descriptor> random_model(unsigned seed) {
    auto tensors = random_tensors(seed);
    for (shard_descriptor& shard : tensors)
        if (bits(shard.dtype) == 6)
            shard.dtype = data_type::f4;
    return tensors;
}

/// Cuts tensors among ranks: uneven boxes, grids, flat ranges, replicas, empty shards, several a rank.
class random_cutter {
public:
    random_cutter(holder_t ranks, unsigned seed) : some_(seed), held_(ranks) {}

    rank_shards cut(std::vector<shard_descriptor> const& tensors) {
        for (shard_descriptor const& tensor : tensors) {
            granule_ = bits(tensor.dtype) < 8 ? 4 : 1;
            cut_boxes(tensor, some_.below(3));
        }
        return held_;
    }

private:
    /// Ascending, from 0 to `extent`; equal ones leave empty shards between them.
    std::vector<index_t> cuts(index_t extent, index_t granule) {
        std::vector<index_t> points{0, extent};
        for (index_t more = some_.below(4); more > 0; --more)
            points.push_back(granule * some_.below(extent / granule + 1));
        std::sort(points.begin(), points.end());
        return points;
    }

    /// Cuts along an axis, and the parts again `depth` times.
    void cut_boxes(shard_descriptor const& part, index_t depth) {
        auto const axes = static_cast<index_t>(part.region.ndim());
        if (depth == 0 || axes == 0)
            return hand_out(part);
        auto const axis = static_cast<std::size_t>(some_.below(axes));
        index_t const first = part.region.offset[axis];
        bool const is_last = axis + 1 == part.region.ndim();
        auto const points = cuts(part.region.shape[axis], is_last ? granule_ : 1);
        for (std::size_t i = 1; i < points.size(); ++i) {
            shard_descriptor piece = part;
            piece.region.offset[axis] = first + points[i - 1];
            piece.region.shape[axis] = points[i] - points[i - 1];
            cut_boxes(piece, depth - 1);
        }
    }

    /// Gives a box to some rank, to several, or in flat ranges.
    void hand_out(shard_descriptor const& part) {
        if (some_.below(3) != 0)
            return give(part);
        auto const points = cuts(element_count(part.region), granule_);
        for (std::size_t i = 1; i < points.size(); ++i) {
            shard_descriptor piece = part;
            piece.flat = flat_range{points[i - 1], points[i]};
            give(piece);
        }
    }

    void give(shard_descriptor const& part) {
        for (index_t copies = some_.below(4) == 0 ? 3 : 1; copies > 0; --copies)
            held_[static_cast<std::size_t>(some_.below(static_cast<index_t>(held_.size())))]
                .push_back(part);
    }

    dice some_;
    rank_shards held_;
    index_t granule_ = 1;
};

inline rank_shards random_layout(std::vector<shard_descriptor> const& tensors, int ranks,
                                 unsigned seed) {
    return random_cutter(static_cast<holder_t>(ranks), seed).cut(tensors);
}

} // namespace reshard::test

#endif
