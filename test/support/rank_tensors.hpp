// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_RANK_TENSORS_HPP
#define RESHARD_TEST_SUPPORT_RANK_TENSORS_HPP

#include "support/placements.hpp"

#include <reshard/layout/layout_of.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

/// \file
/// Random layouts, and what one rank holds of them.

namespace reshard::test {

using namespace reshard::detail;

/// The shards of one rank of a layout: floats, whose values encode tensor and index.
class rank_tensors {
public:
    rank_tensors(layout const& layout, int rank) {
        for (tensor_layout const& tensor : layout.tensors)
            for (std::size_t i = 0; i < layout.shards_of(tensor).size(); ++i)
                if (layout.shards_of(tensor).holder(i) == static_cast<holder_t>(rank)) {
                    shards_.push_back(detail::descriptor_of(layout, tensor, i));
                    elements_.emplace_back(
                        static_cast<std::size_t>(element_count(local_shape(shards_.back()))),
                        untouched);
                }
    }

    void fill() {
        for (std::size_t i = 0; i < shards_.size(); ++i)
            for (std::size_t n = 0; n < elements_[i].size(); ++n)
                elements_[i][n] = value(shards_[i], n);
    }

    std::vector<shard_descriptor> const& shards() const { return shards_; }

    std::size_t wrong_elements() const {
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < shards_.size(); ++i)
            for (std::size_t n = 0; n < elements_[i].size(); ++n)
                wrong += elements_[i][n] != value(shards_[i], n);
        return wrong;
    }

    bool is_untouched() const {
        return std::ranges::all_of(elements_, [](std::vector<float> const& one) {
            return std::ranges::all_of(one, [](float x) { return x == untouched; });
        });
    }

    /// All but the first `without` shards.
    state_dict views(std::size_t without = 0) {
        state_dict tensors;
        for (std::size_t i = without; i < shards_.size(); ++i)
            tensors.add(shards_[i],
                        tensor_view{elements_[i].data(), data_type::f32, local_shape(shards_[i]),
                                    row_major_strides(local_shape(shards_[i]))});
        return tensors;
    }

private:
    static constexpr float untouched = -1;

    /// Tensor `a` counts from 0, `b` from 1000, and so on.
    static float value(shard_descriptor const& shard, std::size_t n) {
        index_t const begin = shard.flat ? shard.flat->begin : 0;
        index_vector const stored = shard.flat ? shard.region.shape : local_shape(shard);
        index_vector position = unravel_index(begin + static_cast<index_t>(n), stored);
        for (axis_cycle const& cycle : shard.cycles)
            position[cycle.axis] +=
                position[cycle.axis] / cycle.block * (cycle.period - cycle.block);
        for (std::size_t axis = 0; axis < position.size(); ++axis)
            position[axis] += shard.region.offset[axis];
        index_t const base = (shard.key[0] - 'a') * 1000;
        return static_cast<float>(base + ravel_index(position, shard.global_shape));
    }

    std::vector<shard_descriptor> shards_;
    std::vector<std::vector<float>> elements_;
};

/// Two axes, at most `ranks` ranks.
inline mesh any_mesh_of(oracle::random_numbers& random, int ranks) {
    index_t const slow = random.between(1, ranks);
    return mesh{{"dp", slow}, {"tp", random.between(1, ranks / slow)}};
}

/// Mostly placements; now and then slices of a flat buffer, of which there are none without elements.
inline tensor_sharding any_sharding(oracle::random_numbers& random, rank_mesh const& ranks,
                                    char key, index_vector const& shape) {
    std::string const name(1, key);
    if (element_count(shape) > 0 && random.chance(25))
        return sharding_of(name, data_type::f32,
                           distribution(ranks, {replicate{}, replicate{}}, shape),
                           flat_sharing{.axes = 3, .slices = {}});
    return sharding_of(name, data_type::f32, any_placement_of(random, ranks, shape));
}

/// Layouts of the same tensors, equal on every rank. Each element of a source is held by somebody.
struct two_layouts {
    layout source, target;

    two_layouts(std::uint64_t seed, int ranks) : two_layouts(seed, ranks, ranks) {}

    two_layouts(std::uint64_t seed, int source_ranks, int target_ranks) {
        oracle::random_numbers random(seed);
        auto const draw = [&](int ranks) {
            return any_ranks_on(random, any_mesh_of(random, ranks), static_cast<holder_t>(ranks));
        };
        rank_mesh const before = draw(source_ranks), after = draw(target_ranks);
        std::vector<tensor_sharding> from, to;
        for (char key = 'a'; key < 'e'; ++key) {
            index_vector const shape = any_shape(random);
            from.push_back(any_sharding(random, before, key, shape));
            to.push_back(any_sharding(random, after, key, shape));
        }
        source = layout_of(from);
        target = layout_of(to);
    }
};

} // namespace reshard::test

#endif
