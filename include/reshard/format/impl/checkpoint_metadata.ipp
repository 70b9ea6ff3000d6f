// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_CHECKPOINT_METADATA_IPP
#define RESHARD_FORMAT_IMPL_CHECKPOINT_METADATA_IPP

#include <reshard/format/checkpoint_metadata.hpp>

#include <utility>

namespace reshard {

namespace detail {

/// The order in which the keys of tensors ascend.
inline std::vector<std::uint32_t> order_of_keys(std::vector<checkpoint_tensor> const& tensors) {
    std::vector<std::uint32_t> order(tensors.size());
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return tensors[a].key < tensors[b].key; });
    return order;
}

/// Puts number `order[i]` in place `i`, without a second list.
inline void put_in_order(std::vector<checkpoint_tensor>& tensors,
                         std::vector<std::uint32_t> order) {
    for (std::uint32_t first = 0; first < order.size(); ++first) {
        checkpoint_tensor moved = std::move(tensors[first]);
        std::uint32_t place = first;
        while (order[place] != first) {
            std::uint32_t const next = std::exchange(order[place], place);
            tensors[place] = std::move(tensors[next]);
            place = next;
        }
        order[place] = place;
        tensors[place] = std::move(moved);
    }
}

RESHARD_DECL void sort_by_key(std::vector<checkpoint_tensor>& tensors) {
    auto const before = [](auto const& a, auto const& b) { return a.key < b.key; };
    if (!std::is_sorted(tensors.begin(), tensors.end(), before))
        put_in_order(tensors, order_of_keys(tensors));
}

} // namespace detail

RESHARD_DECL layout layout_of(checkpoint_metadata const& checkpoint) {
    detail::layout_builder made(static_cast<holder_t>(checkpoint.files.size()));
    made.reserve(checkpoint.tensors.size());
    for (detail::checkpoint_tensor const& tensor : checkpoint.tensors) {
        detail::shard_table shards(tensor.shape.size());
        for (detail::checkpoint_shard const& shard : tensor.shards)
            shards.push_back(shard.file, shard.region, shard.flat);
        made.add(tensor.key, tensor.dtype, {tensor.shape, std::move(shards)});
    }
    layout all = std::move(made).take();
    all.fused = checkpoint.fused;
    return all;
}

} // namespace reshard

#endif
