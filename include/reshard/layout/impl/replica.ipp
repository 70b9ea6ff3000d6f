// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_REPLICA_IPP
#define RESHARD_LAYOUT_IMPL_REPLICA_IPP

#include <reshard/layout/replica.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

namespace reshard::detail {

/// `rank 3 (replica 1)`, for the first shards, and how many more there are.
inline std::string named_replicas(shard_table const& shards, std::vector<std::uint32_t> const& some,
                                  std::vector<index_t> const& replicas) {
    constexpr std::size_t most = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(some.size(), most); ++i)
        text += (i ? ", rank " : "rank ") + std::to_string(shards.holder(some[i])) + " (replica " +
                std::to_string(replicas[some[i]]) + ")";
    return some.size() > most ? text + " and " + std::to_string(some.size() - most) + " more"
                              : text;
}

/// The shards that are equal, those of one kind together, kinds in the order of their first one.
inline std::vector<std::vector<std::uint32_t>> equal_shards(shard_table const& table) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < table.size(); ++i)
        if (!is_empty(table.region(i)) && (!table.flat(i) || table.flat(i)->size() > 0))
            order.push_back(i);
    auto const content = [&](std::uint32_t i) {
        return std::tuple{table.region(i), table.flat(i), table.cycles(i)};
    };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair{content(a), a} < std::pair{content(b), b};
    });
    std::vector<std::vector<std::uint32_t>> classes;
    for (std::uint32_t const i : order) {
        if (classes.empty() || content(classes.back().front()) != content(i))
            classes.emplace_back();
        classes.back().push_back(i);
    }
    std::sort(classes.begin(), classes.end());
    return classes;
}

RESHARD_DECL void check_replicas(layout const& all, tensor_layout const& tensor,
                                 std::vector<index_t> const& replicas) {
    shard_table const shards = listed(all.spread_of(tensor));
    BOOST_ASSERT(replicas.size() == shards.size());
    auto const classes = equal_shards(with_boxes(shards));
    for (std::vector<std::uint32_t> const& copies : classes) {
        std::vector<std::uint32_t> mains;
        std::copy_if(copies.begin(), copies.end(), std::back_inserter(mains),
                     [&](std::uint32_t i) { return replicas[i] == 0; });
        if (mains.size() == 1)
            continue;
        std::string const shard = "'" + tensor.key + "': the shard " +
                                  to_string(descriptor_of(all, tensor, copies.front())) + " has ";
        fail(errc::bad_layout,
             mains.empty() ? shard + "no main copy (replica 0), only " +
                                 named_replicas(shards, copies, replicas)
                           : shard + std::to_string(mains.size()) +
                                 " main copies: " + named_replicas(shards, mains, replicas));
    }
}

} // namespace reshard::detail

#endif
