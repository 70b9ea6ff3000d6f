// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_ZERO_HPP
#define RESHARD_MODEL_ZERO_HPP

#include <reshard/model/buffers.hpp>
#include <reshard/model/data_groups.hpp>
#include <reshard/model/owners.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// What data-parallel ranks share of the tensors that they would all hold: ZeRO 1 to 3, sharding V1 and V2.

namespace reshard {

namespace detail {

/// What a group's tensors have as elements on each rank, in order.
inline std::vector<index_t> sizes_of(std::vector<group_member> const& members) {
    std::vector<index_t> sizes;
    for (group_member const& member : members)
        sizes.push_back(member.elements);
    return sizes;
}

/// The number of ranks that share the tensors of a group.
inline index_t sharing_count(std::vector<tensor_sharding> const& tensors, buffer_group const& group,
                             group_member const& member) {
    tensor_sharding const& tensor = tensors[member.tensor];
    return data_ranks(tensor.parts[parts_in(tensor, group).front()]).count();
}

/// The distribution of which data-parallel rank `owner` alone holds something.
inline distribution held_by(distribution const& how, index_t owner, std::string_view key) {
    std::vector<placement> placements = how.placements();
    for (std::size_t i = how.ranks().ndim(); i-- > 0;) {
        if (!has_axis(data_axes(how.ranks()), i))
            continue;
        index_t const extent = how.ranks().all_axes[i].extent;
        if (placements[i].what != placement::kind::replicate)
            fail(errc::bad_layout, "'" + std::string(key) + "': mesh axis '" +
                                       std::string(how.ranks().all_axes[i].name()) +
                                       "' deals out whole tensors, so it must replicate, not " +
                                       to_string(placements[i]));
        placements[i] = only{owner % extent};
        owner /= extent;
    }
    return {how.ranks(), std::move(placements), how.shape(), key};
}

} // namespace detail

/// How tensors lie that data-parallel ranks share in slices of buffers, given how they would lie otherwise, in
/// the order of the model: optimizer state under ZeRO-1 and ZeRO-2, and under sharding V2.
///
/// Each stage, expert-parallel rank and data type has buffers of its own, packed by `rules(ranks)`, such as
/// `megatron_buckets`. Ranges end with the tensors: padding is nobody's.
///
/// \throws     error with errc::bad_layout for rules that do not suit the ranks, and for a tensor that
///             data-parallel ranks cut already
/// \par Source the distributed optimizer of Megatron-Core; sharding V2 of PaddlePaddle, where ranges count
///             the padding too
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
                    data_axes(tensor.parts[n].how.ranks()),
                    flat_slices{slots[i].begin + table.begin_of(members[i].tensor, n),
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
inline std::vector<tensor_sharding> shard_slices(std::vector<tensor_sharding> tensors,
                                                 index_t largest_whole = 0) {
    detail::group_table const table(tensors);
    for (auto const& [group, members] : table.groups())
        for (detail::group_member const& member : members) {
            if (member.elements <= largest_whole)
                continue;
            tensor_sharding& tensor = tensors[member.tensor];
            index_t const ranks = detail::sharing_count(tensors, group, member);
            for (std::size_t const n : detail::parts_in(tensor, group)) {
                flat_sharing flat{data_axes(tensor.parts[n].how.ranks()), std::nullopt};
                if (tensor.parts.size() > 1)
                    flat.slices = {table.begin_of(member.tensor, n),
                                   padded_slices(member.elements, ranks).length};
                tensor.parts[n].flat = flat;
            }
        }
    for (tensor_sharding const& tensor : tensors)
        check(tensor);
    return tensors;
}

/// How tensors lie that are dealt out whole to data-parallel ranks: sharding V1.
///
/// Each stage, expert-parallel rank and data type deals for itself: see `least_loaded_owners`.
///
/// \par Source DygraphShardingOptimizer of PaddlePaddle
inline std::vector<tensor_sharding> shard_whole(std::vector<tensor_sharding> tensors) {
    detail::group_table const table(tensors);
    for (auto const& [group, members] : table.groups()) {
        std::vector<named_size> sizes;
        for (detail::group_member const& member : members)
            sizes.push_back({tensors[member.tensor].key, member.elements});
        auto const owners =
            least_loaded_owners(sizes, detail::sharing_count(tensors, group, members.front()));
        for (std::size_t i = 0; i < members.size(); ++i) {
            tensor_sharding& tensor = tensors[members[i].tensor];
            for (std::size_t const n : detail::parts_in(tensor, group))
                tensor.parts[n].how = detail::held_by(tensor.parts[n].how, owners[i], tensor.key);
        }
    }
    return tensors;
}

} // namespace reshard

#endif
