// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_OVERLAP_IPP
#define RESHARD_BIND_IMPL_OVERLAP_IPP

#include <reshard/bind/overlap.hpp>

#include <reshard/bind/bind.hpp>
#include <reshard/copy/copy_elements.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/tensor/view.hpp>

#include <algorithm>
#include <vector>

namespace reshard::detail {

/// Refuses two shards that are not of one tensor, or that share memory.
inline void check_pair(const_local_shard const& source, local_shard const& target) {
    check(source);
    check(target);
    shard_descriptor const &from = source.descriptor, &to = target.descriptor;
    if (from.global_shape != to.global_shape)
        fail(errc::shape_mismatch, "'", from.key, "' has the shape ", from.global_shape, ", and '",
             to.key, "' ", to.global_shape);
    if (from.dtype != to.dtype)
        fail(errc::dtype_mismatch, "'", from.key, "' is ", from.dtype, ", and '", to.key, "' ",
             to.dtype);
    if (may_share_memory(source.tensor, target.tensor))
        fail(errc::memory_overlap, "'", from.key, "' ", from.region, " and '", to.key, "' ",
             to.region, " share memory; give the target separate memory");
}

RESHARD_DECL shard_table table_of(shard_descriptor const& shard) {
    shard_table table(shard.global_shape.size());
    table.push_back(0, shard.region, shard.flat, shard.cycles);
    return table;
}

RESHARD_DECL index_t copy_shared(const_local_shard const& source, local_shard const& target) {
    check_pair(source, target);
    shard_table const from = table_of(source.descriptor);
    shard_table const to = table_of(target.descriptor);
    std::vector<box> const wanted = to.boxes(0);
    index_t copied = 0;
    for (box const& source_box : from.boxes(0))
        for (box const& target_box : wanted)
            if (auto const common = intersect(source_box, target_box)) {
                auto const read = place_in_shard(from, 0, common->offset, source.tensor.strides);
                auto const write = place_in_shard(to, 0, common->offset, target.tensor.strides);
                copy_elements(
                    {common->shape, read.offset, read.strides, write.offset, write.strides},
                    {source.descriptor.dtype, {}}, source.tensor.data, target.tensor.data);
                copied += element_count(*common);
            }
    return copied;
}

template <class View>
void list_memory(basic_state_dict<View> const& tensors, bool is_target,
                 std::vector<used_memory>& memories) {
    for (auto const& local : tensors)
        if (address_range const bytes = addresses(local.tensor); !bytes.empty())
            memories.push_back(
                {bytes, &local.descriptor.key, is_target,
                 static_cast<index_t>(bytes.bytes()) ==
                     byte_count(element_count(local.tensor.shape), local.tensor.dtype)});
}

inline void keep_furthest(used_memory const*& furthest, used_memory const& memory) {
    if (!furthest || memory.bytes.end > furthest->bytes.end)
        furthest = &memory;
}

RESHARD_DECL void check_apart(used_memory const* before, used_memory const& memory) {
    if (!before || before->bytes.end <= memory.bytes.begin)
        return;
    auto const named = [](used_memory const& tensor) {
        return (tensor.is_target ? "target '" : "source '") + *tensor.key + "'";
    };
    fail(errc::memory_overlap, named(*before), " and ", named(memory),
         " share memory; give the target separate memory");
}

RESHARD_DECL void check_memory(std::span<const_state_dict const> source,
                               std::span<state_dict const> target) {
    std::vector<used_memory> memories;
    for (const_state_dict const& tensors : source) {
        tensors.check();
        list_memory(tensors, false, memories);
    }
    for (state_dict const& tensors : target) {
        tensors.check();
        list_memory(tensors, true, memories);
    }
    sort_by(memories, [](auto const& a, auto const& b) { return a.bytes.begin < b.bytes.begin; });
    used_memory const* sources = nullptr; // of each kind, the range that reaches furthest
    used_memory const* targets = nullptr;
    used_memory const* dense_targets = nullptr;
    used_memory const* last_target = nullptr; // a first byte always belongs to an element
    for (used_memory const& memory : memories) {
        if (memory.is_target) {
            check_apart(sources, memory);
            check_apart(dense_targets, memory);
            check_apart(last_target && last_target->bytes.begin == memory.bytes.begin ? last_target
                                                                                      : nullptr,
                        memory);
            last_target = &memory;
            keep_furthest(targets, memory);
            if (memory.is_dense)
                keep_furthest(dense_targets, memory);
        } else {
            check_apart(targets, memory);
            keep_furthest(sources, memory);
        }
    }
}

} // namespace reshard::detail

#endif
