// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_SHARD_VIEWS_IPP
#define RESHARD_BIND_IMPL_SHARD_VIEWS_IPP

#include <reshard/bind/shard_views.hpp>

namespace reshard::detail {

RESHARD_DECL std::vector<std::uint32_t> shards_held(tensor_shards const& shards, holder_t holder) {
    std::vector<std::uint32_t> indices;
    shards.for_each_of(holder, [&](std::uint32_t shard) {
        auto const flat = shards.flat(shard);
        if (flat ? flat->size() > 0 : !is_empty(shards.region(shard)))
            indices.push_back(shard);
    });
    return indices;
}

} // namespace reshard::detail

#endif
