// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_CHECKPOINT_METADATA_IPP
#define RESHARD_FORMAT_IMPL_CHECKPOINT_METADATA_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_metadata.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace reshard {

namespace detail {

/// The indices of the tensors, in ascending order of keys.
inline vector<std::uint32_t> order_of_keys(vector<checkpoint_tensor> const& tensors) {
    vector<std::uint32_t> order(tensors.size());
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return tensors[a].key < tensors[b].key; });
    return order;
}

/// Moves tensor `order[i]` to index `i`, without a second list.
inline void put_in_order(vector<checkpoint_tensor>& tensors, vector<std::uint32_t> order) {
    for (std::uint32_t first = 0; first < order.size(); ++first) {
        checkpoint_tensor moved = std::move(tensors[first]);
        std::uint32_t index = first;
        while (order[index] != first) {
            std::uint32_t const next = std::exchange(order[index], index);
            tensors[index] = std::move(tensors[next]);
            index = next;
        }
        order[index] = index;
        tensors[index] = std::move(moved);
    }
}

RESHARD_DECL void sort_by_key(vector<checkpoint_tensor>& tensors) {
    auto const before = [](auto const& a, auto const& b) { return a.key < b.key; };
    if (!std::is_sorted(tensors.begin(), tensors.end(), before))
        put_in_order(tensors, order_of_keys(tensors));
}

/// The rank of each file, from the number after `shard-` in its name. Empty if a name has no
/// number, or if each file has a different number.
inline vector<holder_t> ranks_of(vector<checkpoint_file> const& files) {
    constexpr std::string_view prefix = "shard-";
    vector<holder_t> ranks;
    for (checkpoint_file const& file : files) {
        std::string const name = file.path.filename().string();
        holder_t rank = 0;
        bool const is_numbered =
            name.starts_with(prefix) &&
            std::from_chars(name.data() + prefix.size(), name.data() + name.size(), rank).ec ==
                std::errc();
        if (!is_numbered)
            return {};
        ranks.push_back(rank > 0 ? rank - 1 : 0); // file names count from 1
    }
    vector<holder_t> sorted = ranks;
    std::ranges::sort(sorted);
    bool const has_several = std::ranges::adjacent_find(sorted) != sorted.end();
    return has_several ? ranks : vector<holder_t>();
}

} // namespace detail

RESHARD_DECL layout layout_of(checkpoint_metadata const& checkpoint) {
    detail::layout_builder builder(static_cast<holder_t>(checkpoint.files.size()));
    builder.reserve(checkpoint.tensors.size());
    std::map<std::string, std::string> unread;
    for (detail::checkpoint_tensor const& tensor : checkpoint.tensors) {
        detail::shard_table shards(tensor.shape.size());
        for (detail::checkpoint_shard const& shard : tensor.shards)
            shards.push_back(shard.file, shard.region, shard.flat, shard.cycles);
        builder.add(tensor.key, tensor.dtype, {tensor.shape, std::move(shards)});
        if (!tensor.is_read())
            unread.emplace(tensor.key, tensor.unread);
    }
    layout layout = std::move(builder).take();
    layout.fused = checkpoint.fused;
    layout.quantised = checkpoint.quantised;
    layout.unread = std::move(unread);
    layout.has_global_order = checkpoint.has_global_order;
    layout.ranks = detail::ranks_of(checkpoint.files);
    return layout;
}

} // namespace reshard

#endif
