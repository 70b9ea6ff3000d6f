// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_EXCHANGE_HPP
#define RESHARD_MPI_EXCHANGE_HPP

#include <reshard/mpi/chunk_window.hpp>
#include <reshard/mpi/node_copies.hpp>
#include <reshard/mpi/remote_runs.hpp>
#include <reshard/mpi/ring_lanes.hpp>
#include <reshard/os/yielding_barrier.hpp>

#include <boost/mpi/communicator.hpp>
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

/// \file
/// Moves the bytes of a bound plan: bounded, pipelined, point to point, in rotated order.

namespace reshard {

/// The transfers of one process: to others, from others, those whose two ends are its own, and those that it
/// makes in memory of its node.
struct process_transfers {
    std::vector<lane> sends;
    std::vector<lane> receives;
    std::vector<std::uint32_t> local;
    std::vector<node_transfer> on_node = {};
    std::vector<ring_transfers> through_rings = {};
    std::vector<remote_transfer> reads = {};     ///< out of others' memory
    std::vector<yielding_barrier> meetings = {}; ///< of the ranks whose memory others reach
};

/// The moving of a bound plan over a communicator.
///
/// Each process has at most `in_flight` chunks under way in each direction, `most_staged` of them in staging
/// memory. They start in the order of (number within the lane, step), where step `k` goes to rank + k
/// and comes from rank - k: both ends of a chunk give it the same place. Of all chunks that are not
/// finished the earliest is therefore started at both ends, with memory that no later chunk can take
/// from it; so no order of waiting can lock.
///
/// \par Units staging is at most `2 * most_staged` chunks of `chunk_bytes`: 8 MiB; and in each direction no
///            more than what travels, as `staging_of` has it
class exchange {
public:
    /// \par Collective nobody: nothing is sent before `run`
    /// \pre errors of MPI end the job on `world`, as `mpi_group::duplicate_of` has it
    exchange(boost::mpi::communicator const& world, bound_plan const& bound,
             process_transfers const& all)
        : world_(world), bound_(bound), reads_(bound, all.reads), meetings_(all.meetings) {
        detail::chunk_binder const binder(bound_, stores_for(all), copies_);
        std::vector<std::uint32_t> moved;
        for (std::uint32_t const number : all.local)
            (bound_.whole.transfers[number].source_key == zero_source ? zeros_ : moved)
                .push_back(number);
        local_ = all.on_node.empty()
                     ? binder.copies(moved)
                     : detail::node_copies(binder, bound_,
                                           detail::with_local(bound_, all.on_node, moved), copies_);
        outgoing_.open(binder.sends(all.sends));
        incoming_.open(binder.receives(all.receives));
        detail::chunk_binder const packed(bound_, stores_for(all), copies_, false);
        for (ring_transfers const& one : all.through_rings) {
            rings_.add(packed.sends({one.sends}), one.to);
            rings_.add(packed.receives({one.receives}), one.from);
        }
    }

    /// Moves everything.
    ///
    /// \par Collective every rank of the communicator
    void run() {
        outgoing_.rewind();
        incoming_.rewind();
        rings_.rewind();
        reads_.rewind();
        post();
        meet(); // nobody touches memory whose owner still uses it
        run_local();
        run_reads();
        while (pending_ > 0 || !rings_.is_done())
            advance(true);
        meet();
    }

    /// The memory in which chunks are packed and unpacked.
    index_t staging_bytes() const { return outgoing_.staging_bytes + incoming_.staging_bytes; }

private:
    static constexpr std::size_t in_flight = detail::in_flight;
    static constexpr int tag = 0x5e5d;

    /// Past the caches where all that arrives is more than they hold.
    stores stores_for(process_transfers const& all) const {
        index_t bytes = 0;
        for (std::uint32_t const number : all.local)
            bytes += wire_bytes(bound_.whole, bound_.whole.transfers[number]);
        for (node_transfer const& one : all.on_node)
            bytes += wire_bytes(bound_.whole, bound_.whole.transfers[one.number]);
        auto const add = [&](lane const& one) {
            for (chunk const& part : one.chunks)
                bytes += part.bytes;
        };
        for (lane const& one : all.receives)
            add(one);
        for (ring_transfers const& one : all.through_rings)
            add(one.receives);
        for (remote_transfer const& one : all.reads)
            bytes += wire_bytes(bound_.whole, bound_.whole.transfers[one.number]);
        return bytes >= streaming_threshold ? stores::streaming : stores::cached;
    }

    /// Waits for the other ranks of the node, and lets MPI go on meanwhile: they may wait for it.
    void meet() {
        for (yielding_barrier const& one : meetings_)
            one.wait([this] {
                int there = 0;
                if (!advance(false))
                    MPI_Iprobe(MPI_ANY_SOURCE, tag, world_, &there, MPI_STATUS_IGNORE);
            });
    }

    void run_local() {
        for (std::uint32_t const number : zeros_)
            run_locally(bound_, bound_.whole.transfers[number]);
        index_t bytes = 0;
        side_by_side blocks;
        for (bound_copy const& one : local_) {
            blocks.add(copies_[one.copy], one.source, one.target, one.joins_next);
            bytes += one.bytes;
            if (bytes >= chunk_bytes) {
                while (advance(false)) // others wait for all that can be sent, not for one chunk
                    ;
                bytes = 0;
            }
        }
    }

    /// Others wait for this rank where they cannot be told that it stopped: an error ends the job.
    void run_reads() {
        try {
            while (reads_.advance())
                while (advance(false))
                    ;
        } catch (error const& problem) {
            std::fprintf(stderr, "reshard: rank %d: %s\n", world_.rank(), problem.what());
            MPI_Abort(world_, 1);
        }
    }

    /// Starts all that can be started.
    void post() {
        while (incoming_.can_start())
            receive(incoming_.start());
        while (outgoing_.can_start())
            send(outgoing_.start());
    }

    void receive(std::size_t slot) {
        bound_chunk<std::byte> const& part = *incoming_.under_way[slot];
        MPI_Irecv(part.direct ? part.direct : incoming_.wire[slot], part.bytes, MPI_BYTE, part.peer,
                  tag, world_, &requests_[slot]);
        ++pending_;
    }

    void send(std::size_t slot) {
        bound_chunk<std::byte const> const& part = *outgoing_.under_way[slot];
        std::byte* const wire = outgoing_.wire[slot];
        side_by_side blocks;
        for (std::size_t i = part.first; i < part.last; ++i) {
            auto const& one = outgoing_.all.packets[i];
            blocks.add(copies_[one.copy], one.memory, wire + one.wire, one.joins_next);
        }
        MPI_Isend(part.direct ? part.direct : wire, part.bytes, MPI_BYTE, part.peer, tag, world_,
                  &requests_[in_flight + slot]);
        ++pending_;
    }

    void unpack(std::size_t slot) const {
        bound_chunk<std::byte> const& part = *incoming_.under_way[slot];
        side_by_side blocks;
        for (std::size_t i = part.first; i < part.last; ++i) {
            auto const& one = incoming_.all.packets[i];
            blocks.add(copies_[one.copy], incoming_.wire[slot] + one.wire, one.memory,
                       one.joins_next);
        }
    }

    /// Moves chunks through rings, or deals with one finished request; waits for that where `wait` is
    /// true and only requests are left. False where there was nothing to do.
    bool advance(bool wait) {
        bool const moved = rings_.advance();
        bool const only_requests = rings_.is_done();
        if (wait && !moved && !only_requests)
            ::sched_yield(); // the other end may need this core
        bool const finished = pending_ > 0 && finish_request(wait && !moved && only_requests);
        return moved || finished;
    }

    bool finish_request(bool wait) {
        int which = MPI_UNDEFINED;
        int done = 1;
        if (wait)
            MPI_Waitany(2 * in_flight, requests_.data(), &which, MPI_STATUS_IGNORE);
        else
            MPI_Testany(2 * in_flight, requests_.data(), &which, &done, MPI_STATUS_IGNORE);
        if (!done || which == MPI_UNDEFINED)
            return false;
        --pending_;
        auto const slot = static_cast<std::size_t>(which) % in_flight;
        if (static_cast<std::size_t>(which) < in_flight) {
            unpack(slot);
            incoming_.finish(slot);
        } else {
            outgoing_.finish(slot);
        }
        post();
        return true;
    }

    boost::mpi::communicator world_;
    bound_plan bound_;
    copy_table copies_;
    std::vector<std::uint32_t> zeros_; ///< transfers that need no source
    std::vector<bound_copy> local_;    ///< and those on the node
    ring_lanes rings_{copies_};
    remote_lanes reads_;
    std::vector<yielding_barrier> meetings_;
    detail::chunk_window<std::byte const> outgoing_;
    detail::chunk_window<std::byte> incoming_;
    std::vector<MPI_Request> requests_ =
        std::vector<MPI_Request>(2 * in_flight, MPI_REQUEST_NULL); ///< receives, then sends
    int pending_ = 0;
};

} // namespace reshard

#endif
