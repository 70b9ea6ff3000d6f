// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_REPLICAS_HPP
#define RESHARD_STORAGE_REPLICAS_HPP

#include <reshard/plan/part_index.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/storage/stored_tensor.hpp>

#include <cstddef>
#include <string>
#include <vector>

/// \file
/// Do the files of a checkpoint that hold the same elements hold the same values?

namespace reshard::detail {

/// Refuses two copies of a box of tensor `number` whose elements differ.
inline void check_copy(checkpoint const& source, std::size_t number, box const& region,
                       shard_part first, shard_part second) {
    tensor_layout const& tensor = source.files_layout().tensors[number];
    const_tensor_view const &a = source.view(number, first.shard),
                            &b = source.view(number, second.shard);
    memory_place const in_a = place_in_shard(tensor.shards, first.shard, region.offset, a.strides);
    memory_place const in_b = place_in_shard(tensor.shards, second.shard, region.offset, b.strides);
    auto const found = first_difference(
        {region.shape, in_a.offset, in_a.strides, in_b.offset, in_b.strides}, a, b);
    if (!found)
        return;
    auto const file = [&](shard_part copy) -> std::string const& {
        return source.file_names()[tensor.shards.holder(copy.shard)];
    };
    fail(errc::overlap, file(second) + ": '" + tensor.key + "': element " +
                            to_string(global_index(tensor.shards, second.shard, *found)) +
                            " differs from the copy in " + file(first));
}

inline void check_replicas_of(checkpoint const& source, std::size_t number) {
    shard_table const& shards = source.files_layout().tensors[number].shards;
    if (shards.size() < 2)
        return;
    part_index const index = index_parts(shards);
    for (std::size_t i = 0; i < index.boxes.size(); ++i)
        for (std::size_t which = 1; which < index.replicas(i); ++which)
            if (!is_empty(index.boxes[i]))
                check_copy(source, number, index.boxes[i], index.replica(i, 0),
                           index.replica(i, which));
}

/// The places in `held` of the tensors that some target is made of, ascending.
inline std::vector<std::size_t> tensors_used(plan_problem const& work, layout const& held) {
    std::vector<bool> is_used(held.tensors.size(), false);
    for (target_side const& target : work.targets)
        for (std::size_t i = 0; i < target.pieces->size(); ++i) {
            key_id const source = target.pieces->source(i);
            if (source == zero_source)
                continue;
            if (tensor_layout const* const tensor = held.find(work.sources[source].key))
                is_used[static_cast<std::size_t>(tensor - held.tensors.data())] = true;
        }
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < is_used.size(); ++i)
        if (is_used[i])
            used.push_back(i);
    return used;
}

/// Refuses replicas that differ: equal boxes in two files must have equal elements, bit by bit.
///
/// Only the tensors `numbers` are read: rank `r` compares every `size`-th of them.
///
/// \par Collective every rank of the group, with equal numbers
/// \throws error with errc::overlap, naming both files, the key and the first element that differs, on
///         every rank alike
template <group Group>
void check_replicas(Group const& world, checkpoint const& source,
                    std::vector<std::size_t> const& numbers) {
    agree_on(world, [&] {
        auto const step = static_cast<std::size_t>(world.size());
        for (auto i = static_cast<std::size_t>(world.rank()); i < numbers.size(); i += step)
            check_replicas_of(source, numbers[i]);
    });
}

} // namespace reshard::detail

#endif
