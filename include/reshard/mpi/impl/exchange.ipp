// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_EXCHANGE_IPP
#define RESHARD_MPI_IMPL_EXCHANGE_IPP

#include <reshard/mpi/exchange.hpp>

#include <reshard/core/config.hpp>

#include <sched.h>

#include <utility>

namespace reshard::detail {

RESHARD_DECL exchange::exchange(mpi_group const& world, bound_plan const& bound,
                                process_transfers transfers)
    : world_(world), bound_(bound), arrivals_(transfers.relayed), meetings_(transfers.meetings) {
    chunk_binder const binder(bound_, stores_for(transfers), copies_);
    vector<std::uint32_t> moved;
    for (std::uint32_t const number : transfers.local)
        (bound_.whole.transfers[number].source_key == zero_source ? zeros_ : moved)
            .push_back(number);
    local_ = transfers.on_node.empty()
                 ? binder.copies(moved)
                 : transfers.copies_on_node(binder, bound_, transfers.on_node, moved, copies_);
    outgoing_.open(binder.sends(transfers.sends));
    incoming_.open(binder.receives(transfers.receives));
    chunk_binder const packed(bound_, stores_for(transfers), copies_, false);
    for (ring_transfers const& ring_transfers : transfers.through_rings) {
        rings_.add(packed.sends(ring_transfers.sends), ring_transfers.to);
        rings_.add(packed.receives(ring_transfers.receives), ring_transfers.from);
    }
}

RESHARD_DECL void exchange::run() {
    outgoing_.rewind();
    incoming_.rewind();
    rings_.rewind();
    arrivals_.rewind();
    post();
    meet(); // no rank may touch memory that its holder still uses
    run_local();
    bounded_wait wait(world_.limit());
    while (pending_ > 0 || !rings_.is_done()) {
        if (advance()) {
            wait.restart();
            continue;
        }
        if (!rings_.is_done() || !arrivals_.is_empty())
            ::sched_yield(); // the other end may need this core
        wait.look();
    }
    meet();
}

RESHARD_DECL exchange::~exchange() {
    if (pending_ == 0)
        return;
    static_cast<void>(outgoing_.staging.release()); // requests were given up: kept until exit
    static_cast<void>(incoming_.staging.release());
}

RESHARD_DECL index_t exchange::staging_bytes() const {
    return outgoing_.staging_bytes + incoming_.staging_bytes;
}

RESHARD_DECL stores exchange::stores_for(process_transfers const& transfers) const {
    index_t bytes = 0;
    for (std::uint32_t const number : transfers.local)
        bytes += wire_bytes(bound_.whole, bound_.whole.transfers[number]);
    for (node_transfer const& transfer : transfers.on_node)
        bytes += wire_bytes(bound_.whole, bound_.whole.transfers[transfer.number]);
    auto const add = [&](lane const& lane) {
        for (chunk const& chunk : lane.chunks)
            bytes += chunk.bytes;
    };
    std::ranges::for_each(transfers.receives, add);
    for (ring_transfers const& ring_transfers : transfers.through_rings)
        std::ranges::for_each(ring_transfers.receives, add);
    return bytes >= streaming_threshold ? stores::streaming : stores::cached;
}

RESHARD_DECL void exchange::meet() {
    for (shared_barrier const& meeting : meetings_) {
        bounded_wait wait(world_.limit());
        meeting.wait([&] {
            int there = 0;
            if (!advance())
                MPI_Iprobe(MPI_ANY_SOURCE, world_.tag(), world_.base(), &there, MPI_STATUS_IGNORE);
            wait.look();
        });
    }
}

RESHARD_DECL void exchange::run_local() {
    for (std::uint32_t const number : zeros_)
        run_locally(bound_, bound_.whole.transfers[number]);
    index_t bytes = 0;
    row_batch blocks;
    for (bound_copy const& copy : local_) {
        blocks.add(copies_[copy.copy], copy.source, copy.target, copy.joins_next);
        bytes += copy.bytes;
        if (bytes >= chunk_bytes) {
            while (advance()) // others wait for all chunks that can be sent, not for one
                ;
            bytes = 0;
        }
    }
}

RESHARD_DECL void exchange::post() {
    // Sends first: a rank that receives first answers the announcements of its peer, and its own
    // announcements wait until those bytes have come. Two ranks that swap would take turns.
    while (outgoing_.can_start() && arrivals_.allow(outgoing_.next_chunk()) &&
           !outgoing_.is_peer_busy())
        send(outgoing_.start());
    while (incoming_.can_start())
        receive(incoming_.start());
}

RESHARD_DECL void exchange::receive(std::size_t slot) {
    bound_chunk const& chunk = *incoming_.under_way[slot];
    MPI_Irecv(chunk.direct ? chunk.direct : incoming_.wire[slot], chunk.bytes, MPI_BYTE, chunk.peer,
              world_.tag(), world_.base(), &requests_[slot]);
    ++pending_;
}

RESHARD_DECL void exchange::send(std::size_t slot) {
    bound_chunk const& chunk = *outgoing_.under_way[slot];
    std::byte* const wire = outgoing_.wire[slot];
    row_batch blocks;
    for (std::size_t i = chunk.first; i < chunk.last; ++i) {
        auto const& packet = outgoing_.all.packets[i];
        blocks.add(copies_[packet.copy], packet.memory, wire + packet.wire, packet.joins_next);
    }
    MPI_Isend(chunk.direct ? chunk.direct : wire, chunk.bytes, MPI_BYTE, chunk.peer, world_.tag(),
              world_.base(), &requests_[in_flight + slot]);
    ++pending_;
}

RESHARD_DECL void exchange::unpack(std::size_t slot) const {
    bound_chunk const& chunk = *incoming_.under_way[slot];
    row_batch blocks;
    for (std::size_t i = chunk.first; i < chunk.last; ++i) {
        auto const& packet = incoming_.all.packets[i];
        blocks.add(copies_[packet.copy], incoming_.wire[slot] + packet.wire, packet.memory,
                   packet.joins_next);
    }
}

RESHARD_DECL bool exchange::advance() {
    bool const moved = rings_.advance();
    if (moved && !arrivals_.is_empty())
        post(); // a chunk that came through a ring may continue in a message
    bool const finished = pending_ > 0 && finish_request();
    return moved || finished;
}

RESHARD_DECL bool exchange::finish_request() {
    int which = MPI_UNDEFINED;
    int done = 0;
    MPI_Testany(2 * in_flight, requests_.data(), &which, &done, MPI_STATUS_IGNORE);
    if (!done || which == MPI_UNDEFINED)
        return false;
    --pending_;
    auto const slot = static_cast<std::size_t>(which) % in_flight;
    if (static_cast<std::size_t>(which) < in_flight) {
        unpack(slot);
        arrivals_.add(*incoming_.under_way[slot]);
        incoming_.finish(slot);
    } else {
        outgoing_.finish(slot);
    }
    post();
    return true;
}

} // namespace reshard::detail

#endif
