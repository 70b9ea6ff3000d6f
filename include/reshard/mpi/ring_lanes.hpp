// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_RING_LANES_HPP
#define RESHARD_MPI_RING_LANES_HPP

#include <reshard/mpi/bound_chunks.hpp>
#include <reshard/os/slot_ring.hpp>

#include <cstddef>
#include <utility>
#include <vector>

/// \file
/// Lanes between ranks of a node that pass through rings: packed into a slot, unpacked from it.

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

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/ring_lanes.ipp>
#endif

#endif
