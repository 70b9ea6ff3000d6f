// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_PLACEMENTS_HPP
#define RESHARD_TEST_SUPPORT_PLACEMENTS_HPP

#include "oracle/random.hpp"

#include <reshard/layout/distribution.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Random meshes, and tensors placed on them.

namespace reshard::test {

using namespace reshard::detail;

/// One to three axes of one to four ranks.
inline mesh any_mesh(oracle::random_numbers& random) {
    constexpr std::array names{"pp", "dp", "tp"};
    std::vector<mesh_axis> axes;
    for (std::int64_t i = random.between(1, 3); i > 0; --i)
        axes.emplace_back(names[axes.size()], random.between(1, 4));
    return mesh(axes);
}

/// Sizes of `parts` parts of an extent, some of them perhaps 0.
inline std::vector<index_t> any_sizes(oracle::random_numbers& random, index_t extent,
                                      index_t parts) {
    std::vector<index_t> sizes;
    for (index_t i = 1; i < parts; ++i) {
        sizes.push_back(random.between(0, extent));
        extent -= sizes.back();
    }
    sizes.push_back(extent);
    random.shuffle(sizes);
    return sizes;
}

/// What cuts an axis of a tensor already.
enum class axis_state { whole, cut, cut_last };

/// A placement that fits: sizes only along an axis that nothing else cuts, blocks only as the last
/// cut.
inline placement any_placement(oracle::random_numbers& random, mesh_axis const& ranks,
                               index_vector const& shape, std::vector<axis_state>& states) {
    std::int64_t const kind = random.below(10);
    if (kind < 3 || (kind >= 5 && shape.size() == 0))
        return replicate{};
    if (kind < 5)
        return only{random.below(ranks.extent)};
    auto const axis = static_cast<std::size_t>(random.below(static_cast<index_t>(shape.size())));
    axis_state& state = states[axis];
    if (state == axis_state::cut_last)
        return replicate{};
    bool const is_first = state == axis_state::whole;
    if (random.chance(25)) {
        state = axis_state::cut_last;
        return block_cyclic{axis, random.between(1, 4), random.below(ranks.extent)};
    }
    state = axis_state::cut;
    if (kind < 7 && is_first && random.chance(50))
        return placement(axis, any_sizes(random, shape[axis], ranks.extent));
    if (random.chance(20)) {
        state = axis_state::cut_last;
        return strided_shard{axis};
    }
    return shard{axis};
}

/// A tensor of that shape over a mesh.
inline distribution any_placement_of(oracle::random_numbers& random, rank_mesh const& ranks,
                                     index_vector const& shape) {
    std::vector<axis_state> states(shape.size());
    std::vector<placement> placements;
    for (mesh_axis const& axis : ranks.grid().axes())
        placements.push_back(any_placement(random, axis, shape, states));
    return distribution(ranks, std::move(placements), shape);
}

/// The mesh over its own ranks, or over some of `count` in any order.
///
/// \pre `ranks.rank_count() <= count`
inline rank_mesh any_ranks_on(oracle::random_numbers& random, mesh const& ranks, holder_t count) {
    if (random.chance(70))
        return ranks;
    std::vector<holder_t> holders;
    for (holder_t rank = 0; rank < count; ++rank)
        holders.push_back(rank);
    random.shuffle(holders);
    holders.resize(ranks.rank_count());
    return {ranks, holders};
}

/// No to three axes; extents from 0.
inline index_vector any_shape(oracle::random_numbers& random) {
    index_vector shape;
    for (std::int64_t i = random.between(0, 3); i > 0; --i)
        shape.push_back(random.chance(5) ? 0 : random.between(1, 9));
    return shape;
}

/// A box in a tensor of that shape, perhaps without elements.
inline box any_part_of(oracle::random_numbers& random, index_vector const& shape) {
    box part = whole(shape);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        part.offset[axis] = random.between(0, shape[axis]);
        part.shape[axis] = random.between(0, shape[axis] - part.offset[axis]);
    }
    return part;
}

inline distribution any_distribution(oracle::random_numbers& random) {
    mesh const ranks = any_mesh(random);
    return any_placement_of(random, ranks, any_shape(random));
}

} // namespace reshard::test

#endif
