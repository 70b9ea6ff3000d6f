// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_ZERO_HPP
#define RESHARD_MODEL_ZERO_HPP

#include <reshard/core/config.hpp>
#include <reshard/model/buffers.hpp>
#include <reshard/model/data_groups.hpp>

#include <cstddef>
#include <vector>

/// \file
/// What data-parallel ranks share of the tensors that they would all hold: ZeRO 1 to 3, sharding V1
/// and V2.

namespace reshard {

namespace detail {

/// What a group's tensors have as elements on each rank, in order.
RESHARD_DECL std::vector<index_t> sizes_of(std::vector<group_member> const& members);

/// The number of ranks that share the tensors of a group.
RESHARD_DECL index_t sharing_count(std::vector<tensor_sharding> const& tensors,
                                   buffer_group const& group, group_member const& member);

} // namespace detail

namespace model {

/// How tensors lie that data-parallel ranks share in slices of buffers, given how they would lie
/// otherwise, in the order of the model: optimizer state under ZeRO-1 and ZeRO-2, and under
/// sharding V2.
///
/// Each stage, expert-parallel rank and data type has buffers of its own, packed by `rules(ranks)`,
/// such as `megatron_buckets`. Ranges end with the tensors: padding is nobody's.
///
/// \throws     error with errc::bad_layout for rules that do not suit the ranks, and for a tensor
///             that data-parallel ranks cut already
/// \par Source the distributed optimizer of Megatron-Core; sharding V2 of PaddlePaddle, where
///             ranges count the padding too
template <class Rules>
std::vector<tensor_sharding> shard_buffers(std::vector<tensor_sharding> tensors,
                                           Rules const& rules) {
    detail::group_table const table(tensors);
    for (auto const& [group, members] : table.groups()) {
        index_t const ranks = detail::sharing_count(tensors, group, members.front());
        auto const slots = pack(detail::sizes_of(members), ranks, rules(ranks));
        for (std::size_t i = 0; i < members.size(); ++i) {
            tensor_sharding& tensor = tensors[members[i].tensor];
            for (std::size_t const n : detail::parts_in(tensor, group))
                tensor.parts[n].flat = {
                    detail::data_axes(tensor.parts[n].how.ranks()),
                    detail::flat_slices{slots[i].begin + table.begin_of(members[i].tensor, n),
                                        slots[i].length}};
        }
    }
    for (tensor_sharding const& tensor : tensors)
        check(tensor);
    return tensors;
}

/// How tensors lie of which each data-parallel rank has an equal slice, padded: ZeRO-3.
///
/// Tensors of which a rank would store `largest_whole` elements or fewer stay as they are.
///
/// \par Source stage 3 of PaddlePaddle's group sharding (`segment_size`) and of DeepSpeed
///             (`param_persistence_threshold`)
RESHARD_DECL std::vector<tensor_sharding> shard_slices(std::vector<tensor_sharding> tensors,
                                                       index_t largest_whole = 0);

/// How tensors lie that are dealt out whole to data-parallel ranks: sharding V1.
///
/// Each stage, expert-parallel rank and data type deals for itself: see `least_loaded_owners`.
///
/// \par Source DygraphShardingOptimizer of PaddlePaddle
RESHARD_DECL std::vector<tensor_sharding> shard_whole(std::vector<tensor_sharding> tensors);

} // namespace model

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/model/impl/zero.ipp>
#endif

#endif
