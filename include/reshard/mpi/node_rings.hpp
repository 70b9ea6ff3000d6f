// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_NODE_RINGS_HPP
#define RESHARD_MPI_NODE_RINGS_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/mpi/bound_chunks.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/shared_arena.hpp>
#include <reshard/os/slot_ring.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

/// \file
/// Rings between all ranks of a node.

namespace reshard::detail {

/// What passes between this process and another one of its node through rings.
struct ring_transfers {
    lane sends;
    lane receives;
    ring_sender to;
    ring_receiver from;
};

/// What one process exchanges with others of its node, chunk by chunk, each of which fits a slot.
///
/// Nothing blocks here: a chunk moves when its ring has room for it. Elements are read once and
/// written once in memory, and pass from one process to the other in the caches.
class ring_lanes {
public:
    /// \pre `copies` outlives the lanes; no chunk is direct
    explicit ring_lanes(copy_table const& copies) : copies_(&copies) {}

    void add(bound_chunks<std::byte const> sends, ring_sender ring) {
        sends_.push_back({std::move(sends), ring});
    }

    void add(bound_chunks<std::byte> receives, ring_receiver ring) {
        receives_.push_back({std::move(receives), ring});
    }

    /// All chunks are to be moved, again.
    void rewind();

    /// Moves at most one chunk of each lane. False where none could be moved.
    bool advance();

    bool is_done() const;

private:
    template <class Byte, class Ring>
    struct lane_state {
        bound_chunks<Byte> chunks;
        Ring ring;
        std::size_t next = 0;

        bool is_done() const { return next == chunks.chunks.size(); }
    };

    bool pack(lane_state<std::byte const, ring_sender>& lane) const;

    bool unpack(lane_state<std::byte, ring_receiver>& lane) const;

    /// Moves the lane's next chunk, if its ring has a slot; `add` copies a packet to or from that.
    template <class Lane, class Add>
    bool move_chunk(Lane& lane, Add const& add) const {
        auto* const slot = lane.is_done() ? nullptr : lane.ring.slot();
        if (!slot)
            return false;
        auto const& chunk = lane.chunks.chunks[lane.next++];
        side_by_side blocks; // all is copied when the last packet is added
        for (std::size_t i = chunk.first; i < chunk.last; ++i) {
            auto const& one = lane.chunks.packets[i];
            add(blocks, (*copies_)[one.copy], one, slot);
        }
        lane.ring.pass();
        return true;
    }

    copy_table const* copies_;
    std::vector<lane_state<std::byte const, ring_sender>> sends_;
    std::vector<lane_state<std::byte, ring_receiver>> receives_;
};

/// A ring for each pair of ranks of a node and each direction, in memory of the rank that fills it.
class node_rings {
public:
    /// The memory that a rank gives for its rings.
    static constexpr index_t budget_bytes = index_t{4} << 20;

    /// Slots for more would be too small to be worth passing.
    static constexpr std::size_t most_ranks = 65;

    /// Enough for one to be filled while one is emptied, and for a rank that lost its core.
    static constexpr int slots_each = 4;

    /// \par Collective every rank of the node, in the same order
    /// \throws error with errc::io, on every rank of the node alike, where one is refused something
    node_rings(node_ranks const& node, segment_request const& wanted);

    /// The most bytes of a chunk on a node of that many ranks.
    static std::size_t slot_bytes_for(int ranks);

    /// The same on this node.
    std::size_t slot_bytes() const { return slot_bytes_for(size()); }

    node_ranks const& node() const { return node_; }

    /// \pre called once for each other rank of the node, by its number there; here and below
    ring_sender sender_to(int peer) const;
    ring_receiver receiver_from(int peer) const;

private:
    /// All states, then all slots.
    static index_t states_bytes(int ranks);
    static index_t bytes_for(int ranks);

    int size() const;

    std::byte* state_at(int from, int to) const;
    ring_state& state_of(int from, int to) const;
    ring_slots slots_of(int from, int to) const;

    node_ranks node_;
    node_segments segments_;
};

/// Rings, or null where a rank of the node is alone or is refused shared memory.
///
/// \par Collective every rank of the node, in the same order
RESHARD_DECL std::shared_ptr<node_rings const> make_rings(node_ranks const& node,
                                                          system_calls const& calls = {});

/// The rings through which a redistribution passes what ranks of a node have in memory of their
/// own; null where it passes messages: where there is little to pass, or more ranks than rings are
/// for.
///
/// \param bytes what this rank and each other one give one another, the larger of both ways
/// \par Collective every rank of the group, in the same order
/// \throws error as `agreed_node_of`
RESHARD_DECL std::shared_ptr<node_rings const>
rings_for(mpi_group const& ranks, std::vector<index_t> const& bytes, node_exchange how);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/node_rings.ipp>
#endif

#endif
