// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_OVERLAP_IPP
#define RESHARD_BIND_IMPL_OVERLAP_IPP

#include <reshard/bind/overlap.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/bind/bind.hpp>
#include <reshard/copy/bits.hpp>
#include <reshard/copy/copy_elements.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/device/host_tensors.hpp>
#include <reshard/tensor/self_overlap.hpp>
#include <reshard/tensor/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>

namespace reshard::detail {

/// Refuses two shards of different tensors, and shards that share memory.
inline void check_pair(const_local_shard const& source, local_shard const& target) {
    check(source);
    check(target);
    shard_descriptor const &from = source.descriptor, &to = target.descriptor;
    if (from.global_shape != to.global_shape)
        fail(errc::shape_mismatch, "'", from.key, "' has the shape ", from.global_shape, ", but '",
             to.key, "' has ", to.global_shape);
    if (from.dtype != to.dtype)
        fail(errc::dtype_mismatch, "'", from.key, "' is ", from.dtype, ", but '", to.key, "' is ",
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
    vector<box> const wanted = to.boxes(0);
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

/// True if range and elements have the same number of bytes. If no two elements share an address,
/// they fill the range.
inline bool is_dense(address_range const& bytes, const_tensor_view const& elements) {
    return static_cast<index_t>(bytes.bytes()) ==
           byte_count(element_count(elements.shape), elements.dtype);
}

/// Lists the memory of shards. Blocks of an array that has no gaps are one range.
template <class View>
void list_memory(basic_state_dict<View> const& tensors, bool is_target,
                 vector<used_memory>& memories) {
    tensors.shards().for_each_joined(
        [](auto const& joined) {
            const_tensor_view const& tensor = joined.tensor;
            return is_dense(addresses(tensor), tensor) &&
                   !self_overlap(tensor.shape, tensor.strides);
        },
        [&](auto const& local, auto const& first) {
            if (address_range const bytes = addresses(local.tensor); !bytes.empty())
                memories.push_back({local.tensor.memory, bytes, &first.descriptor.key, is_target,
                                    is_dense(bytes, local.tensor)});
        });
}

inline void keep_furthest(used_memory const*& furthest, used_memory const& memory) {
    if (!furthest || furthest->memory != memory.memory || memory.bytes.end > furthest->bytes.end)
        furthest = &memory;
}

RESHARD_DECL void check_apart(used_memory const* before, used_memory const& memory) {
    if (!before || before->memory != memory.memory || before->bytes.end <= memory.bytes.begin)
        return;
    auto const named = [](used_memory const& tensor) {
        return (tensor.is_target ? "target '" : "source '") + *tensor.key + "'";
    };
    fail(errc::memory_overlap, named(*before), " and ", named(memory),
         " share memory; give the target separate memory");
}

RESHARD_DECL void check_memory(std::span<const_state_dict const> source,
                               std::span<state_dict const> target, device_list const& devices) {
    vector<memory_space> const reachable = spaces_of(devices);
    vector<used_memory> memories;
    for (const_state_dict const& tensors : source) {
        tensors.check(reachable);
        list_memory(tensors, false, memories);
    }
    for (state_dict const& tensors : target) {
        tensors.check(reachable);
        list_memory(tensors, true, memories);
    }
    sort_by(memories, [](used_memory const& a, used_memory const& b) {
        return std::tie(a.memory.kind, a.memory.number, a.bytes.begin) <
               std::tie(b.memory.kind, b.memory.number, b.bytes.begin);
    });
    used_memory const* sources = nullptr; // the range of each kind that reaches furthest
    used_memory const* targets = nullptr;
    used_memory const* dense_targets = nullptr;
    used_memory const* last_target = nullptr; // the first byte always belongs to an element
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

inline bool differs_at(element_row const& a, element_row const& b, index_t i, int bits) {
    if (bits < 8)
        return read_bits(a.bytes, a.bit(i, bits), bits) != read_bits(b.bytes, b.bit(i, bits), bits);
    return std::memcmp(a.bytes + a.bit(i, bits) / 8, b.bytes + b.bit(i, bits) / 8,
                       static_cast<std::size_t>(bits / 8)) != 0;
}

RESHARD_DECL index_t first_difference(element_row const& a, element_row const& b, index_t count,
                                      int bits) {
    bool const is_dense = a.step == 1 && b.step == 1 && bits >= 8;
    if (is_dense && std::memcmp(a.bytes + a.bit(0, bits) / 8, b.bytes + b.bit(0, bits) / 8,
                                static_cast<std::size_t>(count * bits / 8)) == 0)
        return count;
    index_t i = 0;
    while (i < count && !differs_at(a, b, i, bits))
        ++i;
    return i;
}

RESHARD_DECL std::optional<index_t>
first_difference(affine_copy const& loop, const_tensor_view const& a, const_tensor_view const& b) {
    affine_copy outer = fuse(loop);
    index_t count = 1, a_step = 1, b_step = 1;
    if (outer.ndim() > 0) {
        std::size_t const last = outer.ndim() - 1;
        count = outer.extent[last];
        a_step = outer.source_strides[last];
        b_step = outer.target_strides[last];
        outer.extent = {outer.extent.begin(), outer.extent.end() - 1};
        outer.source_strides = {outer.source_strides.begin(), outer.source_strides.end() - 1};
        outer.target_strides = {outer.target_strides.begin(), outer.target_strides.end() - 1};
    }
    index_t const rows = count == 0 ? 0 : element_count(outer.extent);
    for (index_t row = 0; row < rows; ++row) {
        index_vector const at = unravel_index(row, outer.extent);
        index_t const a_first = outer.source_offset + linear_offset(at, outer.source_strides);
        index_t const b_first = outer.target_offset + linear_offset(at, outer.target_strides);
        index_t const index = first_difference(
            element_row{static_cast<unsigned char const*>(a.data), a_first, a_step},
            element_row{static_cast<unsigned char const*>(b.data), b_first, b_step}, count,
            bits(a.dtype));
        if (index < count)
            return b_first + index * b_step;
    }
    return std::nullopt;
}

/// Whether two shards of equal shape have different elements.
inline bool differ(const_tensor_view const& a, const_tensor_view const& b,
                   device_list const& devices) {
    if (a == b || element_count(a.shape) == 0)
        return false;
    host_tensor const first(a, devices), second(b, devices);
    return first_difference(affine_copy{a.shape, 0, first.view().strides, 0, second.view().strides},
                            first.view(), second.view())
        .has_value();
}

/// False if no two runs of shards have the same key. Shards of one run are never equal.
inline bool may_have_twins(const_state_dict const& source) {
    vector<std::uint64_t> keys;
    for (const_local_shard const& first : source.shards().firsts())
        keys.push_back(digest_of_all(first.descriptor.key));
    sort_by(keys, std::less<>());
    return std::adjacent_find(keys.begin(), keys.end()) != keys.end();
}

RESHARD_DECL void check_twins(const_state_dict const& source, device_list const& devices) {
    if (!may_have_twins(source))
        return;
    vector<std::pair<std::uint64_t, std::size_t>> places;
    for (std::size_t i = 0; i < source.size(); ++i)
        places.emplace_back(digest_of(source[i].descriptor), i);
    sort_by(places, std::less<>());
    for (std::size_t i = 1; i < places.size(); ++i) {
        auto const& [shard, tensor] = source[places[i - 1].second];
        auto const& other = source[places[i].second];
        if (places[i - 1].first == places[i].first && shard == other.descriptor &&
            differ(tensor, other.tensor, devices))
            fail(errc::overlap, "'", shard.key, "' ", shard.region,
                 " was added twice, at different addresses, with different elements; give each "
                 "tensor its own key");
    }
}

} // namespace reshard::detail

#endif
