// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_NODE_RINGS_IPP
#define RESHARD_MPI_IMPL_NODE_RINGS_IPP

#include <reshard/mpi/node_rings.hpp>

#include <reshard/core/config.hpp>
#include <reshard/group/agree.hpp>

#include <algorithm>
#include <new>
#include <optional>
#include <string>

namespace reshard::detail {

RESHARD_DECL void ring_lanes::rewind() {
    for (auto& one : sends_)
        one.next = 0;
    for (auto& one : receives_)
        one.next = 0;
}

RESHARD_DECL bool ring_lanes::advance() {
    bool any = false;
    for (auto& one : receives_)
        any |= unpack(one);
    for (auto& one : sends_)
        any |= pack(one);
    return any;
}

RESHARD_DECL bool ring_lanes::is_done() const {
    auto const ended = [](auto const& one) { return one.is_done(); };
    return std::all_of(sends_.begin(), sends_.end(), ended) &&
           std::all_of(receives_.begin(), receives_.end(), ended);
}

RESHARD_DECL bool ring_lanes::pack(lane_state<std::byte const, ring_sender>& lane) const {
    return move_chunk(lane, [](auto& blocks, auto const& copy, auto const& one, auto* slot) {
        blocks.add(copy, one.memory, slot + one.wire, one.joins_next);
    });
}

RESHARD_DECL bool ring_lanes::unpack(lane_state<std::byte, ring_receiver>& lane) const {
    return move_chunk(lane, [](auto& blocks, auto const& copy, auto const& one, auto* slot) {
        blocks.add(copy, slot + one.wire, one.memory, one.joins_next);
    });
}

RESHARD_DECL node_rings::node_rings(node_ranks const& node, segment_request const& wanted)
    : node_(node), segments_(node.group, bytes_for(static_cast<int>(node.numbers.size())), wanted) {
    for (int peer = 0; peer < size(); ++peer)
        new (state_at(node_.group.rank(), peer)) ring_state;
    agree(node_.group, std::nullopt); // before others use them
}

RESHARD_DECL std::size_t node_rings::slot_bytes_for(int ranks) {
    index_t const share = budget_bytes / (std::max(1, ranks - 1) * slots_each);
    return static_cast<std::size_t>(std::clamp<index_t>(share / 4096 * 4096, 16 << 10, 128 << 10));
}

RESHARD_DECL ring_sender node_rings::sender_to(int peer) const {
    return {state_of(node_.group.rank(), peer), slots_of(node_.group.rank(), peer)};
}

RESHARD_DECL ring_receiver node_rings::receiver_from(int peer) const {
    return {state_of(peer, node_.group.rank()), slots_of(peer, node_.group.rank())};
}

RESHARD_DECL index_t node_rings::states_bytes(int ranks) {
    return (index_t{ranks} * static_cast<index_t>(sizeof(ring_state)) + 4095) / 4096 * 4096;
}

RESHARD_DECL index_t node_rings::bytes_for(int ranks) {
    return states_bytes(ranks) +
           index_t{ranks} * slots_each * static_cast<index_t>(slot_bytes_for(ranks));
}

RESHARD_DECL int node_rings::size() const { return static_cast<int>(node_.numbers.size()); }

RESHARD_DECL std::byte* node_rings::state_at(int from, int to) const {
    return segments_.data(from) + static_cast<std::size_t>(to) * sizeof(ring_state);
}

RESHARD_DECL ring_state& node_rings::state_of(int from, int to) const {
    return *std::launder(reinterpret_cast<ring_state*>(state_at(from, to)));
}

RESHARD_DECL ring_slots node_rings::slots_of(int from, int to) const {
    auto const each = static_cast<std::size_t>(slots_each) * slot_bytes();
    return {segments_.data(from) + states_bytes(size()) + static_cast<std::size_t>(to) * each,
            slot_bytes(), slots_each};
}

RESHARD_DECL std::shared_ptr<node_rings const> make_rings(node_ranks const& node,
                                                          system_calls const& calls) {
    std::string refusal; // messages do as well
    return with_segments(node.group, refusal, [&](segment_kind kind) {
        return std::make_shared<node_rings const>(node, segment_request{kind, {}, calls});
    });
}

RESHARD_DECL std::shared_ptr<node_rings const>
rings_for(mpi_group const& ranks, std::vector<index_t> const& bytes, node_exchange how) {
    constexpr index_t worth_it = index_t{1} << 20;
    if (how == node_exchange::messages || ranks.size() == 1)
        return nullptr;
    index_t const most = *std::max_element(bytes.begin(), bytes.end());
    if (how == node_exchange::chosen &&
        std::ranges::max(gather_values(ranks, most)) < worth_it / ranks.size())
        return nullptr;
    node_ranks const node = agreed_node_of(ranks);
    index_t on_node = 0;
    for (int const rank : node.numbers)
        on_node += bytes[static_cast<std::size_t>(rank)];
    bool const is_little = std::ranges::max(gather_values(node.group, on_node)) < worth_it;
    if ((how == node_exchange::chosen && is_little) || node.numbers.size() > node_rings::most_ranks)
        return nullptr;
    return make_rings(node);
}

} // namespace reshard::detail

#endif
