// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_REPLICA_IPP
#define RESHARD_LAYOUT_IMPL_REPLICA_IPP

#include <reshard/layout/replica.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

namespace reshard {

namespace detail {

/// Names the first shards as `rank 3 (replica 1)`, and says how many more there are.
inline std::string named_replicas(shard_table const& shards, vector<std::uint32_t> const& some,
                                  vector<index_t> const& replicas) {
    constexpr std::size_t most = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(some.size(), most); ++i)
        text += (i ? ", rank " : "rank ") + std::to_string(shards.holder(some[i])) + " (replica " +
                std::to_string(replicas[some[i]]) + ")";
    return some.size() > most ? text + " and " + std::to_string(some.size() - most) + " more"
                              : text;
}

} // namespace detail

RESHARD_DECL void check(layout const& layout, tensor_layout const& tensor,
                        vector<index_t> const& replicas) {
    detail::shard_table const shards = detail::listed(layout.spread_of(tensor));
    BOOST_ASSERT(replicas.size() == shards.size());
    for (detail::equal_shards const& copies : detail::different_shards(shards)) {
        auto const flat = shards.flat(copies.front());
        if (detail::is_empty(shards.region(copies.front())) || (flat && flat->size() == 0))
            continue;
        vector<std::uint32_t> mains;
        std::copy_if(copies.begin(), copies.end(), std::back_inserter(mains),
                     [&](std::uint32_t i) { return replicas[i] == 0; });
        if (mains.size() == 1)
            continue;
        std::string const shard = "'" + tensor.key + "': the shard " +
                                  to_string(detail::descriptor_of(layout, tensor, copies.front())) +
                                  " has ";
        fail(errc::bad_layout, mains.empty()
                                   ? shard + "no main copy (replica 0), only " +
                                         detail::named_replicas(shards, copies, replicas)
                                   : shard + std::to_string(mains.size()) + " main copies: " +
                                         detail::named_replicas(shards, mains, replicas));
    }
}

} // namespace reshard

#endif
