// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_JOIN_NEIGHBOURS_HPP
#define RESHARD_TENSOR_JOIN_NEIGHBOURS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/tensor/self_overlap.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <cstddef>
#include <utility>

/// \file
/// Joins shards that are neighbours in their tensor and in memory into one shard.

namespace reshard::detail {

/// A shard that was joined from several shards.
struct joined_shard {
    const_local_shard value;
    std::size_t start = 0;    ///< the index of the shard with the first element
    std::size_t position = 0; ///< the lowest index of its shards
};

/// True if no two elements of a joined shard share an address, or if they are only read.
inline bool have_own_memory(const_local_shard const&) { return true; }
inline bool have_own_memory(local_shard const& joined) {
    return !self_overlap(joined.tensor.shape, joined.tensor.strides);
}

/// Joins shards along each axis, the last axis first: blocks become rows, and rows become panels.
RESHARD_DECL vector<joined_shard> joined_shards(vector<joined_shard> shards);

/// The same elements in fewer shards. Joins shards that are neighbours along an axis and have the
/// same extents along the other axes.
///
/// The local array of a block-cyclic distribution holds thousands of blocks. They are one run of
/// `shard_list`, and become one shard. Blocks that were added in another order become one shard if
/// they are neighbours in the array and in the tensor. Flat shards, empty shards, and shards with
/// custom strides are not joined. The result is in the order of the first part of each shard.
///
/// \post every element keeps its address
template <class View>
basic_state_dict<View> join_neighbours(basic_state_dict<View> const& shards) {
    vector<basic_local_shard<View>> runs;
    vector<joined_shard> parts;
    shards.shards().for_each(
        [](basic_local_shard<View> const& joined) { return have_own_memory(joined); },
        [&](basic_local_shard<View> const& part, auto const&) {
            parts.push_back({{part.descriptor, part.tensor}, runs.size(), runs.size()});
            runs.push_back(part);
        });
    basic_state_dict<View> result;
    for (joined_shard& joined : joined_shards(std::move(parts))) {
        View tensor = runs[joined.start].tensor;
        tensor.shape = joined.value.tensor.shape;
        result.add(std::move(joined.value.descriptor), tensor);
    }
    return result;
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/tensor/impl/join_neighbours.ipp>
#endif

#endif
