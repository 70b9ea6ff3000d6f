// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_NODE_TRANSFERS_IPP
#define RESHARD_MPI_IMPL_NODE_TRANSFERS_IPP

#include <reshard/core/vector.hpp>
#include <reshard/mpi/node_transfers.hpp>

#include <reshard/core/sorting.hpp>
#include <reshard/tensor/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace reshard::detail {

/// A transfer of a tree, and the rank at its other end.
struct relay_with {
    int peer = 0;
    relay step;
};

/// Groups the transfers of trees by peer and tree. Each group is sorted by target tensor, box and
/// position. So all holders of a tree have the same order, even if they number their shards
/// differently.
inline vector<relay_transfers> by_peer_and_tree(plan const& plan, vector<relay_with> relays) {
    auto const order = [&](relay_with const& relay) {
        transfer const& t = plan.transfers[relay.step.transfer];
        return std::tuple(relay.peer, relay.step.tree, t.target_key, relay.step.box,
                          plan.patterns[plan.pattern_of[t.target_key]].target_offset(t.cut));
    };
    sort_by(relays, [&](auto const& a, auto const& b) { return order(a) < order(b); });
    vector<relay_transfers> sorted;
    for (auto const& [peer, step] : relays) {
        if (sorted.empty() || sorted.back().peer != peer || sorted.back().tree != step.tree)
            sorted.push_back(
                {step.tree, peer, step_of(plan.trees[step.tree], step.position).depth, {}});
        sorted.back().numbers.push_back(step.transfer);
    }
    return sorted;
}

RESHARD_DECL sorted_transfers sort_by_peer(plan const& plan, int rank, int size) {
    sorted_transfers sorted;
    sorted.to.resize(static_cast<std::size_t>(size));
    sorted.from.resize(static_cast<std::size_t>(size));
    auto const me = static_cast<holder_t>(rank);
    vector<relay_with> to, from;
    for (std::uint32_t i = 0; i < plan.transfers.size(); ++i) {
        transfer const& transfer = plan.transfers[i];
        if (relay const* const step = find_relay(plan.relays, i)) {
            bool const is_mine = transfer.target_holder == me;
            holder_t const peer =
                is_mine ? sender_of(plan, transfer, step) : transfer.target_holder;
            (is_mine ? from : to).push_back({static_cast<int>(peer), *step});
        } else if (transfer.target_holder == me &&
                   (transfer.source_holder == me || transfer.source_holder == no_holder)) {
            sorted.local.push_back(i);
        } else if (transfer.target_holder == me) {
            sorted.from[transfer.source_holder].push_back(i);
        } else {
            sorted.to[transfer.target_holder].push_back(i);
        }
    }
    sorted.relays_to = by_peer_and_tree(plan, std::move(to));
    sorted.relays_from = by_peer_and_tree(plan, std::move(from));
    return sorted;
}

/// The relayed transfers that a peer sends or receives.
///
/// \pre `relays` are sorted by peer
inline std::span<relay_transfers const> relays_of(vector<relay_transfers> const& relays, int peer) {
    auto const begin =
        std::lower_bound(relays.begin(), relays.end(), peer,
                         [](relay_transfers const& a, int number) { return a.peer < number; });
    auto end = begin;
    while (end != relays.end() && end->peer == peer)
        ++end;
    return {begin, end};
}

RESHARD_DECL vector<lane> rotated_lanes(plan const& plan,
                                        vector<vector<std::uint32_t>> const& by_peer,
                                        vector<relay_transfers> const& relays,
                                        lane_order const& order) {
    vector<lane> lanes;
    chunk_limits const& limits = order.limits;
    int const size = static_cast<int>(by_peer.size());
    for (int distance = 1; distance < size; ++distance) {
        int const peer = (order.rank + order.step * distance + size) % size;
        auto const& numbers = by_peer[static_cast<std::size_t>(peer)];
        if (!numbers.empty())
            lanes.push_back(
                {peer, chunks_of(plan, numbers, limits.is_near(peer) ? limits.near : limits.far)});
        std::size_t const first = lanes.size();
        for (relay_transfers const& transfers : relays_of(relays, peer))
            lanes.push_back({peer, chunks_of(plan, transfers.numbers, limits.relayed),
                             transfers.depth, transfers.tree});
        sort_by(std::span(lanes).subspan(first), [&](lane const& a, lane const& b) {
            return plan.trees[a.tree] < plan.trees[b.tree];
        });
    }
    return lanes;
}

/// True if a chunk brings, packet by packet, the elements that another chunk passes on.
inline bool brings(plan const& plan, chunk const& from, chunk const& to) {
    auto const is_input = [&](packet const& in, packet const& out) {
        relay const* const step = find_relay(plan.relays, out.transfer);
        return step && step->input == in.transfer && in.region == out.region;
    };
    return std::equal(from.packets.begin(), from.packets.end(), to.packets.begin(),
                      to.packets.end(), is_input) &&
           from.regions == to.regions;
}

RESHARD_DECL std::size_t link_relays(plan const& plan, vector<lane>& sends,
                                     vector<lane>& receives) {
    vector<lane*> by_tree; // all elements of a tree come from the same rank
    for (lane& from : receives)
        if (from.tree != lane::no_tree)
            by_tree.push_back(&from);
    sort_by(by_tree, [](lane const* a, lane const* b) { return a->tree < b->tree; });
    std::size_t count = 0;
    for (lane& to : sends) {
        if (to.tree == lane::no_tree || to.first_turn == 0)
            continue; // this process is the tree's source
        auto const position =
            std::lower_bound(by_tree.begin(), by_tree.end(), to.tree,
                             [](lane const* a, std::uint32_t tree) { return a->tree < tree; });
        lane* const from =
            position != by_tree.end() && (*position)->tree == to.tree ? *position : nullptr;
        if (!from || from->chunks.size() != to.chunks.size())
            fail(errc::bad_layout, "according to the plan, this rank passes ",
                 counted(to.chunks.size(), "chunk"), " on to rank ", to.peer, ", but receives ",
                 from ? from->chunks.size() : 0, " of them; make the plan again");
        if (!std::equal(from->chunks.begin(), from->chunks.end(), to.chunks.begin(),
                        to.chunks.end(),
                        [&](chunk const& in, chunk const& out) { return brings(plan, in, out); }))
            fail(errc::bad_layout, "according to the plan, this rank passes elements on to rank ",
                 to.peer, " that it does not receive; make the plan again");
        if (from->first_relayed == lane::not_relayed)
            from->first_relayed = std::exchange(count, count + from->chunks.size());
        to.first_relayed = from->first_relayed;
    }
    return count;
}

RESHARD_DECL index_t bytes_of(plan const& plan, vector<std::uint32_t> const& numbers) {
    index_t bytes = 0;
    for (std::uint32_t const i : numbers)
        bytes += wire_bytes(plan, plan.transfers[i]);
    return bytes;
}

RESHARD_DECL vector<index_t> bytes_by_peer(plan const& plan, sorted_transfers const& sorted) {
    auto const one_way = [&](vector<vector<std::uint32_t>> const& by_peer,
                             vector<relay_transfers> const& relays) {
        vector<index_t> bytes;
        for (vector<std::uint32_t> const& numbers : by_peer)
            bytes.push_back(bytes_of(plan, numbers));
        for (relay_transfers const& transfers : relays)
            bytes[static_cast<std::size_t>(transfers.peer)] += bytes_of(plan, transfers.numbers);
        return bytes;
    };
    vector<index_t> bytes = one_way(sorted.to, sorted.relays_to);
    vector<index_t> const received = one_way(sorted.from, sorted.relays_from);
    for (std::size_t peer = 0; peer < bytes.size(); ++peer)
        bytes[peer] = std::max(bytes[peer], received[peer]);
    return bytes;
}

RESHARD_DECL void leave_out(sorted_transfers& sorted, std::span<int const> peers) {
    auto const is_left_out = [&](relay_transfers const& transfers) {
        return std::binary_search(peers.begin(), peers.end(), transfers.peer);
    };
    for (int const peer : peers) {
        sorted.to[static_cast<std::size_t>(peer)].clear();
        sorted.from[static_cast<std::size_t>(peer)].clear();
    }
    erase_if(sorted.relays_to, is_left_out);
    erase_if(sorted.relays_from, is_left_out);
}

/// True if any transfer goes between this process and a peer, in one direction.
inline bool gives_any(vector<std::uint32_t> const& numbers, vector<relay_transfers> const& relays,
                      std::size_t peer) {
    return !numbers.empty() || !relays_of(relays, static_cast<int>(peer)).empty();
}

RESHARD_DECL process_cost cost_of(plan const& plan, sorted_transfers const& sorted) {
    process_cost cost;
    cost.bytes_local = bytes_of(plan, sorted.local);
    for (std::size_t peer = 0; peer < sorted.to.size(); ++peer) {
        cost.bytes_out += bytes_of(plan, sorted.to[peer]);
        cost.bytes_in += bytes_of(plan, sorted.from[peer]);
        cost.messages_out += gives_any(sorted.to[peer], sorted.relays_to, peer);
        cost.messages_in += gives_any(sorted.from[peer], sorted.relays_from, peer);
    }
    for (relay_transfers const& transfers : sorted.relays_to) {
        index_t const bytes = bytes_of(plan, transfers.numbers);
        cost.bytes_out += bytes;
        cost.bytes_relayed += transfers.depth > 0 ? bytes : 0;
    }
    for (relay_transfers const& transfers : sorted.relays_from)
        cost.bytes_in += bytes_of(plan, transfers.numbers);
    return cost;
}

} // namespace reshard::detail

#endif
