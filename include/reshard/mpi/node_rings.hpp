// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_NODE_RINGS_HPP
#define RESHARD_MPI_NODE_RINGS_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/mpi/bound_chunks.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/node_segments.hpp>
#include <reshard/os/slot_ring.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

/// \file
/// Rings between all ranks of a node.

namespace reshard::detail {

/// The transfers between this process and another process of its node that go through rings.
struct ring_transfers {
    vector<lane> sends;
    vector<lane> receives;
    ring_sender to;
    ring_receiver from;
};

/// Exchanges chunks between one process and others of its node. Each chunk fits a slot.
///
/// Nothing blocks here: a chunk moves when its ring has room for it. A chunk that is passed on also
/// waits until it has arrived, through a ring or a message. Elements are read once and written once
/// in memory, and pass between the processes in the caches.
class ring_lanes {
public:
    /// \pre `copies` and `come` outlive the lanes; no chunk is direct
    ring_lanes(copy_table const& copies, arrivals& come) : copies_(&copies), arrivals_(&come) {}

    void add(bound_chunks sends, ring_sender ring) { sends_.push_back({std::move(sends), ring}); }

    void add(bound_chunks receives, ring_receiver ring) {
        receives_.push_back({std::move(receives), ring});
    }

    /// Starts again: all chunks are still to be moved.
    void rewind() {
        for (auto& send : sends_)
            send.next = 0;
        for (auto& receive : receives_)
            receive.next = 0;
    }

    /// Moves at most one chunk of each lane. False if none could be moved.
    bool advance() {
        bool any = false;
        for (auto& receive : receives_)
            any |= unpack(receive);
        for (auto& send : sends_)
            any |= pack(send);
        return any;
    }

    bool is_done() const {
        auto const ended = [](auto const& element) { return element.is_done(); };
        return std::all_of(sends_.begin(), sends_.end(), ended) &&
               std::all_of(receives_.begin(), receives_.end(), ended);
    }

private:
    template <class Ring>
    struct lane_state {
        bound_chunks chunks;
        Ring ring;
        std::size_t next = 0;

        bool is_done() const { return next == chunks.chunks.size(); }
        bound_chunk const& next_chunk() const { return chunks.chunks[next]; }
    };

    bool pack(lane_state<ring_sender>& lane) const {
        if (lane.is_done() || !arrivals_->allow(lane.next_chunk()))
            return false;
        return move_chunk(
            lane, [](auto& blocks, auto const& copy, auto const& element, auto* slot) {
                blocks.add(copy, element.memory, slot + element.wire, element.joins_next);
            });
    }

    bool unpack(lane_state<ring_receiver>& lane) const {
        if (lane.is_done())
            return false;
        auto const& chunk = lane.next_chunk();
        bool const moved =
            move_chunk(lane, [](auto& blocks, auto const& copy, auto const& element, auto* slot) {
                blocks.add(copy, slot + element.wire, element.memory, element.joins_next);
            });
        if (moved)
            arrivals_->add(chunk);
        return moved;
    }

    /// Moves the lane's next chunk, if its ring has a slot; `add` copies a packet to or from that
    /// slot.
    template <class Lane, class Add>
    bool move_chunk(Lane& lane, Add const& add) const {
        auto* const slot = lane.ring.slot();
        if (!slot)
            return false;
        auto const& chunk = lane.chunks.chunks[lane.next++];
        row_batch blocks; // all is copied when the last packet is added
        for (std::size_t i = chunk.first; i < chunk.last; ++i) {
            auto const& packet = lane.chunks.packets[i];
            add(blocks, (*copies_)[packet.copy], packet, slot);
        }
        lane.ring.pass();
        return true;
    }

    copy_table const* copies_;
    arrivals* arrivals_;
    vector<lane_state<ring_sender>> sends_;
    vector<lane_state<ring_receiver>> receives_;
};

/// A ring for each pair of ranks of a node and each direction, in memory of the rank that fills it.
class node_rings {
public:
    /// The memory that a rank gives for its rings.
    static constexpr index_t budget_bytes = index_t{4} << 20;

    /// With more ranks, slots would be too small to be useful.
    static constexpr std::size_t most_ranks = 65;

    /// Enough to fill one slot while another is emptied, and for a rank that lost its core.
    static constexpr int slots_each = 4;

    /// \par Collective every rank of the node, in the same order
    /// \throws error with errc::io, on every rank of the node, if the system refuses one something
    node_rings(node_ranks const& node, segment_request const& wanted)
        : node_(node),
          segments_(node.group, bytes_for(static_cast<int>(node.numbers.size())), wanted) {
        for (int peer = 0; peer < size(); ++peer)
            new (state_at(node_.group.rank(), peer)) ring_state;
        agree(node_.group, std::nullopt); // before others use them
    }

    /// The most bytes of a chunk on a node of `ranks` ranks.
    static std::size_t slot_bytes_for(int ranks) {
        index_t const share = budget_bytes / (std::max(1, ranks - 1) * slots_each);
        return static_cast<std::size_t>(
            std::clamp<index_t>(share / 4096 * 4096, 16 << 10, 128 << 10));
    }

    /// The same on this node.
    std::size_t slot_bytes() const { return slot_bytes_for(size()); }

    node_ranks const& node() const { return node_; }

    /// \pre called once for each other rank of the node, by its number there; here and below
    ring_sender sender_to(int peer) const {
        return {state_of(node_.group.rank(), peer), slots_of(node_.group.rank(), peer)};
    }
    ring_receiver receiver_from(int peer) const {
        return {state_of(peer, node_.group.rank()), slots_of(peer, node_.group.rank())};
    }

private:
    /// All states, then all slots.
    static index_t states_bytes(int ranks) {
        return (index_t{ranks} * static_cast<index_t>(sizeof(ring_state)) + 4095) / 4096 * 4096;
    }
    static index_t bytes_for(int ranks) {
        return states_bytes(ranks) +
               index_t{ranks} * slots_each * static_cast<index_t>(slot_bytes_for(ranks));
    }

    int size() const { return static_cast<int>(node_.numbers.size()); }

    std::byte* state_at(int from, int to) const {
        return segments_.data(from) + static_cast<std::size_t>(to) * sizeof(ring_state);
    }
    ring_state& state_of(int from, int to) const {
        return *std::launder(reinterpret_cast<ring_state*>(state_at(from, to)));
    }
    ring_slots slots_of(int from, int to) const {
        auto const each = static_cast<std::size_t>(slots_each) * slot_bytes();
        return {segments_.data(from) + states_bytes(size()) + static_cast<std::size_t>(to) * each,
                slot_bytes(), slots_each};
    }

    node_ranks node_;
    node_segments segments_;
};

/// The least bytes on a node for which rings are worth their memory.
inline constexpr index_t least_in_rings = index_t{1} << 20;

/// Rings, or null if the node has one rank or the system refuses shared memory.
///
/// \par Collective every rank of the node, in the same order
inline std::shared_ptr<node_rings const> make_rings(node_ranks const& node,
                                                    system_calls const& calls = {}) {
    std::string refusal; // unused: messages replace the rings
    return with_segments(node.group, refusal, [&](segment_kind kind) {
        return std::make_shared<node_rings const>(node, segment_request{kind, {}, calls});
    });
}

/// The ranks of a group and their nodes.
struct ranks_on_nodes {
    mpi_group ranks;
    vector<int> nodes; ///< of each rank, the lowest rank on its node
};

/// The node of this rank.
///
/// \par Collective every rank of the group
inline node_ranks node_of(ranks_on_nodes const& group) {
    int const me = group.ranks.rank();
    int const node = group.nodes[static_cast<std::size_t>(me)];
    vector<int> numbers;
    for (int rank = 0; rank < group.ranks.size(); ++rank)
        if (group.nodes[static_cast<std::size_t>(rank)] == node)
            numbers.push_back(rank);
    return {group.ranks.subgroup(group.ranks.base().split(node, me)), std::move(numbers)};
}

/// True if rings are faster than messages if two of the ranks exchange this number of bytes.
inline bool rings_are_worth_it(int ranks, index_t most_bytes, node_exchange chosen) {
    if (chosen == node_exchange::messages || ranks == 1)
        return false;
    return chosen == node_exchange::rings || most_bytes >= least_in_rings / ranks;
}

/// The rings through which ranks of a node pass elements in private memory; null if they use
/// messages: if there are few bytes, or a node has too many ranks.
///
/// \param bytes the bytes that this rank and each other rank exchange, the larger of both
/// directions
/// \param most  the largest of these numbers on any rank
/// \par Collective every rank of the group, in the same order
inline std::shared_ptr<node_rings const> rings_for(ranks_on_nodes const& group,
                                                   vector<index_t> const& bytes, index_t most,
                                                   node_exchange chosen) {
    if (!rings_are_worth_it(group.ranks.size(), most, chosen))
        return nullptr;
    node_ranks const node = node_of(group);
    index_t on_node = 0;
    for (int const rank : node.numbers)
        on_node += bytes[static_cast<std::size_t>(rank)];
    bool const is_little = std::ranges::max(gather_values(node.group, on_node)) < least_in_rings;
    if ((chosen == node_exchange::chosen && is_little) ||
        node.numbers.size() > node_rings::most_ranks)
        return nullptr;
    return make_rings(node);
}

} // namespace reshard::detail

#endif
