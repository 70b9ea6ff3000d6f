// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_EXCHANGE_HPP
#define RESHARD_MPI_EXCHANGE_HPP

#include <reshard/local/bind.hpp>
#include <reshard/mpi/packets.hpp>

#include <boost/mpi/communicator.hpp>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

/// \file
/// Moves the bytes of a bound plan: bounded, pipelined, point to point, in rotated order.

namespace reshard {

namespace detail {

/// One end of a packet: where its elements lie, and how they are packed.
struct packet_end {
    affine_copy
        copy; ///< from the source's memory to the wire, or from the wire to the target's memory
    element_conversion conversion;
};

inline void move_to(memory_place& place, index_vector const& offset) {
    place.offset += linear_offset(offset, place.strides);
}

/// The bytes themselves where the memory of a packet is what the wire carries; else null.
template <class Byte, class Void>
Byte* direct_bytes(bound_end<Void*> const& end, packet const& part, data_type dtype) {
    if (bits(dtype) % 8 != 0 || !is_row_major(part.region.shape, end.place.strides))
        return nullptr;
    return static_cast<Byte*>(end.data) + end.place.offset * (bits(dtype) / 8);
}

} // namespace detail

/// What a process sends or receives, and in which order.
struct lane {
    int peer = 0;
    std::vector<chunk> chunks;
};

/// The moving of a bound plan over a communicator.
///
/// Each process has at most `slots` chunks under way in each direction, in the order of its lanes. Lanes
/// are rotated: step `k` goes to rank + k and comes from rank - k, so that the earliest unfinished step
/// has both its ends at the front, and no order of waiting can lock.
///
/// \par Units staging is at most `2 * slots` chunks of `chunk_bytes`: 8 MiB
class exchange {
public:
    exchange(boost::mpi::communicator const& world, bound_plan const& bound,
             std::vector<lane> sends, std::vector<lane> receives)
        : world_(world),
          bound_(bound),
          outgoing_(std::move(sends)),
          incoming_(std::move(receives)) {
        open(outgoing_);
        open(incoming_);
    }

    /// Moves everything; `local` are the transfers whose two ends are in this process.
    ///
    /// \par Collective every rank of the communicator
    void run(std::vector<std::uint32_t> const& local) {
        restart(outgoing_);
        restart(incoming_);
        post();
        for (std::uint32_t const number : local) {
            run_locally(bound_, bound_.whole.transfers[number]);
            advance(false);
        }
        while (pending_ > 0)
            advance(true);
    }

private:
    static constexpr std::size_t slots = 4;
    static constexpr int tag = 0x5e5d;

    /// One chunk under way. The staging memory is kept from run to run.
    struct slot {
        std::unique_ptr<std::byte[]> staging;
        chunk const* part = nullptr;
        bool is_direct = false;
    };

    struct direction {
        explicit direction(std::vector<lane> all) : lanes(std::move(all)) {}
        std::vector<lane> lanes;
        std::size_t next_lane = 0;
        std::size_t next_chunk = 0;
        slot under_way[slots];
    };

    static void open(direction& side) {
        index_t largest = 0;
        for (lane const& one : side.lanes)
            for (chunk const& part : one.chunks)
                largest = std::max(largest, part.bytes);
        for (slot& place : side.under_way)
            place.staging =
                std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(largest));
    }

    static void restart(direction& side) {
        side.next_lane = 0;
        side.next_chunk = 0;
    }

    MPI_Request& request(bool is_send, std::size_t i) { return requests_[is_send ? slots + i : i]; }

    /// The next chunk of a direction and its peer, or null.
    static chunk const* next(direction& side, int& peer) {
        while (side.next_lane < side.lanes.size() &&
               side.next_chunk == side.lanes[side.next_lane].chunks.size()) {
            ++side.next_lane;
            side.next_chunk = 0;
        }
        if (side.next_lane == side.lanes.size())
            return nullptr;
        peer = side.lanes[side.next_lane].peer;
        return &side.lanes[side.next_lane].chunks[side.next_chunk++];
    }

    void post() {
        for (std::size_t i = 0; i < slots; ++i) {
            post_receive(i);
            post_send(i);
        }
    }

    void post_receive(std::size_t i) {
        int peer = 0;
        slot& place = incoming_.under_way[i];
        place.part = next(incoming_, peer);
        if (!place.part)
            return;
        std::byte* const direct = direct_target(*place.part);
        place.is_direct = direct != nullptr;
        MPI_Irecv(direct ? direct : place.staging.get(), static_cast<int>(place.part->bytes),
                  MPI_BYTE, peer, tag, world_, &request(false, i));
        ++pending_;
    }

    void post_send(std::size_t i) {
        int peer = 0;
        slot& place = outgoing_.under_way[i];
        place.part = next(outgoing_, peer);
        if (!place.part)
            return;
        std::byte const* bytes = direct_source(*place.part);
        if (!bytes) {
            pack(*place.part, place.staging.get());
            bytes = place.staging.get();
        }
        MPI_Isend(bytes, static_cast<int>(place.part->bytes), MPI_BYTE, peer, tag, world_,
                  &request(true, i));
        ++pending_;
    }

    /// Deals with one finished request; waits for one where `wait` is true.
    void advance(bool wait) {
        int which = MPI_UNDEFINED;
        int done = 1;
        if (wait)
            MPI_Waitany(2 * slots, requests_, &which, MPI_STATUS_IGNORE);
        else
            MPI_Testany(2 * slots, requests_, &which, &done, MPI_STATUS_IGNORE);
        if (!done || which == MPI_UNDEFINED)
            return;
        --pending_;
        auto const i = static_cast<std::size_t>(which) % slots;
        if (static_cast<std::size_t>(which) >= slots)
            return post_send(i);
        slot& place = incoming_.under_way[i];
        if (!place.is_direct)
            unpack(*place.part, place.staging.get());
        post_receive(i);
    }

    bool packs_at_source(transfer const& part) const {
        return wire_dtype(bound_.whole, part) == bound_.whole.target_dtypes[part.target_key];
    }

    std::byte const* direct_source(chunk const& part) const {
        if (part.packets.size() != 1)
            return nullptr;
        packet const& only = part.packets.front();
        transfer const& moved = bound_.whole.transfers[only.transfer];
        if (packs_at_source(moved) && !bound_.whole.chains[moved.chain].empty())
            return nullptr;
        auto end = source_end(bound_, moved);
        detail::move_to(end.place, only.region.offset);
        return detail::direct_bytes<std::byte const>(end, only, wire_dtype(bound_.whole, moved));
    }

    std::byte* direct_target(chunk const& part) const {
        if (part.packets.size() != 1)
            return nullptr;
        packet const& only = part.packets.front();
        transfer const& moved = bound_.whole.transfers[only.transfer];
        if (!packs_at_source(moved))
            return nullptr;
        auto end = target_end(bound_, moved);
        detail::move_to(end.place, only.region.offset);
        return detail::direct_bytes<std::byte>(end, only, wire_dtype(bound_.whole, moved));
    }

    void pack(chunk const& part, std::byte* wire) const {
        for (packet const& one : part.packets) {
            transfer const& moved = bound_.whole.transfers[one.transfer];
            auto end = source_end(bound_, moved);
            detail::move_to(end.place, one.region.offset);
            element_conversion conversion = conversion_of(bound_.whole, moved);
            if (!packs_at_source(moved))
                conversion.chain = {};
            copy_elements({one.region.shape, end.place.offset, end.place.strides, 0,
                           row_major_strides(one.region.shape)},
                          conversion, end.data, wire);
            wire += one.bytes;
        }
    }

    void unpack(chunk const& part, std::byte const* wire) const {
        for (packet const& one : part.packets) {
            transfer const& moved = bound_.whole.transfers[one.transfer];
            auto end = target_end(bound_, moved);
            detail::move_to(end.place, one.region.offset);
            element_conversion conversion = conversion_of(bound_.whole, moved);
            if (packs_at_source(moved))
                conversion = {bound_.whole.target_dtypes[moved.target_key], {}};
            copy_elements({one.region.shape, 0, row_major_strides(one.region.shape),
                           end.place.offset, end.place.strides},
                          conversion, wire, end.data);
            wire += one.bytes;
        }
    }

    boost::mpi::communicator world_;
    bound_plan bound_;
    direction outgoing_;
    direction incoming_;
    MPI_Request requests_[2 * slots] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                                        MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                                        MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    std::size_t pending_ = 0;
};

} // namespace reshard

#endif
