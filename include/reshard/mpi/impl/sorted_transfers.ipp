// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_SORTED_TRANSFERS_IPP
#define RESHARD_MPI_IMPL_SORTED_TRANSFERS_IPP

#include <reshard/mpi/sorted_transfers.hpp>

#include <algorithm>
#include <cstddef>

namespace reshard::detail {

RESHARD_DECL sorted_transfers sort_by_peer(plan const& whole, int rank, int size) {
    sorted_transfers sorted;
    sorted.to.resize(static_cast<std::size_t>(size));
    sorted.from.resize(static_cast<std::size_t>(size));
    auto const me = static_cast<holder_t>(rank);
    for (std::uint32_t i = 0; i < whole.transfers.size(); ++i) {
        transfer const& transfer = whole.transfers[i];
        if (transfer.target_holder == me &&
            (transfer.source_holder == me || transfer.source_holder == no_holder))
            sorted.local.push_back(i);
        else if (transfer.target_holder == me)
            sorted.from[transfer.source_holder].push_back(i);
        else
            sorted.to[transfer.target_holder].push_back(i);
    }
    return sorted;
}

RESHARD_DECL std::vector<lane> rotated_lanes(plan const& whole,
                                             std::vector<std::vector<std::uint32_t>> const& by_peer,
                                             lane_order const& order) {
    std::vector<lane> lanes;
    int const size = static_cast<int>(by_peer.size());
    for (int distance = 1; distance < size; ++distance) {
        int const peer = (order.rank + order.step * distance + size) % size;
        auto const& numbers = by_peer[static_cast<std::size_t>(peer)];
        if (!numbers.empty())
            lanes.push_back({peer, chunks_of(whole, numbers, order.limit)});
    }
    return lanes;
}

RESHARD_DECL index_t bytes_of(plan const& whole, std::vector<std::uint32_t> const& numbers) {
    index_t bytes = 0;
    for (std::uint32_t const i : numbers)
        bytes += wire_bytes(whole, whole.transfers[i]);
    return bytes;
}

RESHARD_DECL std::vector<index_t> bytes_by_peer(plan const& whole, sorted_transfers const& sorted) {
    std::vector<index_t> bytes;
    for (std::size_t peer = 0; peer < sorted.to.size(); ++peer)
        bytes.push_back(
            std::max(bytes_of(whole, sorted.to[peer]), bytes_of(whole, sorted.from[peer])));
    return bytes;
}

RESHARD_DECL process_cost cost_of(plan const& whole, sorted_transfers const& sorted) {
    process_cost cost;
    cost.bytes_local = bytes_of(whole, sorted.local);
    for (std::size_t peer = 0; peer < sorted.to.size(); ++peer) {
        cost.bytes_out += bytes_of(whole, sorted.to[peer]);
        cost.bytes_in += bytes_of(whole, sorted.from[peer]);
        cost.messages_out += !sorted.to[peer].empty();
        cost.messages_in += !sorted.from[peer].empty();
    }
    return cost;
}

} // namespace reshard::detail

#endif
