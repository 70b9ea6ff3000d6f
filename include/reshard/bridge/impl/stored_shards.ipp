// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_IMPL_STORED_SHARDS_IPP
#define RESHARD_BRIDGE_IMPL_STORED_SHARDS_IPP

#include <reshard/bridge/stored_shards.hpp>

#include <reshard/bind/shard_views.hpp>

#include <algorithm>
#include <new>
#include <tuple>
#include <utility>

namespace reshard::detail {

/// Shards begin at cache lines; buffers begin at pages.
inline constexpr index_t shard_alignment = 64, buffer_alignment = 4096;

inline index_t aligned_up(index_t bytes, index_t unit) { return (bytes + unit - 1) / unit * unit; }

RESHARD_DECL stored_shards::stored_shards(layout const& layout, holder_t holder) {
    vector<std::optional<vector<std::uint32_t>>> held(layout.spreads.size());
    index_t end = 0;
    for (std::uint32_t t = 0; t < layout.tensors.size(); ++t) {
        tensor_layout const& tensor = layout.tensors[t];
        auto& shards = held[tensor.spread];
        if (!shards)
            shards = shards_held(layout.shards_of(tensor), holder);
        for (std::uint32_t const i : *shards) {
            index_vector const shape = local_shape(descriptor_of(layout, tensor, i));
            index_t const bytes = byte_count(element_count(shape), tensor.dtype);
            list_.push_back({t, i, tensor.dtype, shape, end, bytes});
            end = aligned_up(end + bytes, shard_alignment);
        }
    }
    std::ranges::sort(list_, {},
                      [](auto const& element) { return std::tie(element.tensor, element.shard); });
    head_bytes_ = aligned_up(16 * std::max<index_t>(1, std::ssize(list_)), buffer_alignment);
    buffer_bytes_ = aligned_up(end, buffer_alignment);
}

RESHARD_DECL std::optional<std::size_t> stored_shards::find(std::uint32_t tensor,
                                                            std::uint32_t shard) const {
    auto const position = std::ranges::lower_bound(
        list_, std::pair(tensor, shard), {}, [](stored_shard const& stored_shard) {
            return std::pair(stored_shard.tensor, stored_shard.shard);
        });
    if (position == list_.end() || position->tensor != tensor || position->shard != shard)
        return std::nullopt;
    return static_cast<std::size_t>(position - list_.begin());
}

RESHARD_DECL std::atomic<std::uint64_t>&
stored_shards::stamp(std::byte* segment, std::size_t buffer, std::size_t number) const {
    auto* const first = std::launder(reinterpret_cast<std::atomic<std::uint64_t>*>(segment));
    return first[buffer * list_.size() + number];
}

RESHARD_DECL tensor_view stored_shards::view(std::byte* segment, std::size_t buffer,
                                             std::size_t number) const {
    stored_shard const& shard = list_[number];
    return {segment + head_bytes_ + static_cast<index_t>(buffer) * buffer_bytes_ + shard.offset,
            shard.dtype, shard.shape, row_major_strides(shard.shape)};
}

} // namespace reshard::detail

#endif
