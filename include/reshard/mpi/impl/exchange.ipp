// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_EXCHANGE_IPP
#define RESHARD_MPI_IMPL_EXCHANGE_IPP

#include <reshard/mpi/exchange.hpp>

#include <reshard/core/config.hpp>
#include <reshard/tensor/traits.hpp>

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>

namespace reshard::detail {

RESHARD_DECL void ring_lanes::add(bound_chunks receives, ring_receiver ring,
                                  std::uint64_t process) {
    std::size_t largest = read_bytes_.size();
    for (bound_chunk const& chunk : receives.chunks)
        largest = std::max(largest, static_cast<std::size_t>(chunk.bytes));
    if (ways_.least_read != ring_ways::nothing_is_read)
        read_bytes_.resize(largest);
    receives_.push_back({std::move(receives), ring, process});
}

RESHARD_DECL void ring_lanes::rewind() {
    for (send_state& lane : sends_) {
        lane.next = 0;
        lane.first_slot = lane.ring.filled();
        lane.has_lists = false;
    }
    for (receive_state& lane : receives_)
        lane.next = 0;
}

RESHARD_DECL bool ring_lanes::is_done() {
    auto const is_sent = [](send_state& lane) {
        return lane.next == lane.chunks.chunks.size() && (!lane.has_lists || lane.ring.is_empty());
    };
    return std::all_of(sends_.begin(), sends_.end(), is_sent) &&
           std::all_of(receives_.begin(), receives_.end(), [](receive_state const& lane) {
               return lane.next == lane.chunks.chunks.size();
           });
}

RESHARD_DECL bool ring_lanes::pack(send_state& lane) const {
    if (lane.has_lists && replace_list(lane))
        return true;
    if (lane.next == lane.chunks.chunks.size() || !arrivals_->allow(lane.chunks.chunks[lane.next]))
        return false;
    std::byte* const slot = lane.ring.slot();
    if (!slot)
        return false;
    bound_chunk const& chunk = lane.chunks.chunks[lane.next++];
    std::uint64_t const runs = list_runs(lane, chunk, slot);
    if (runs == 0)
        pack_bytes(lane, chunk, slot);
    else
        lane.has_lists = true;
    lane.ring.pass(runs);
    return true;
}

RESHARD_DECL void ring_lanes::pack_bytes(send_state const& lane, bound_chunk const& chunk,
                                         std::byte* slot) const {
    row_batch blocks; // adding the last packet copies all of them
    for (std::size_t i = chunk.first; i < chunk.last; ++i) {
        bound_packet const& packet = lane.chunks.packets[i];
        blocks.add((*copies_)[packet.copy], packet.memory, slot + packet.wire, packet.joins_next);
    }
    wait_for(*devices_);
}

/// The bytes of each run of the copy's source; 0 if the copy does more than move runs of bytes.
inline index_t run_bytes_of(prepared_copy const& copy) {
    bool const has_runs =
        copy.kernel == copy_kernel::contiguous || copy.kernel == copy_kernel::rows;
    return has_runs ? copy.loop.extent[copy.loop.ndim() - 1] * copy.sizes.source : 0;
}

RESHARD_DECL std::uint64_t ring_lanes::list_runs(send_state const& lane, bound_chunk const& chunk,
                                                 std::byte* slot) const {
    if (chunk.bytes < ways_.least_read || !lane.ring.may_list())
        return 0;
    auto const packets =
        std::span(lane.chunks.packets).subspan(chunk.first, chunk.last - chunk.first);
    index_t count = 0;
    for (bound_packet const& packet : packets) {
        prepared_copy const& copy = (*copies_)[packet.copy];
        index_t const run = run_bytes_of(copy);
        if (run == 0)
            return 0;
        count += element_count(copy.loop.extent) * copy.sizes.source / run;
    }
    auto const listed_bytes = count * static_cast<index_t>(sizeof(memory_run));
    if (count * ways_.least_read > chunk.bytes || listed_bytes > chunk.bytes)
        return 0;
    for (bound_packet const& packet : packets) {
        prepared_copy const& copy = (*copies_)[packet.copy];
        auto const run = static_cast<std::uint64_t>(run_bytes_of(copy));
        auto const add = [&](index_t source, index_t target) {
            memory_run const listed{reinterpret_cast<std::uintptr_t>(packet.memory + source),
                                    static_cast<std::uint64_t>(packet.wire + target), run};
            std::memcpy(slot, &listed, sizeof listed);
            slot += sizeof listed;
        };
        for_each_place(copy.loop, copy.loop.ndim() - 1, place_visitor(add));
    }
    return static_cast<std::uint64_t>(count);
}

RESHARD_DECL bool ring_lanes::replace_list(send_state& lane) const {
    std::uint64_t const slot = lane.ring.refused();
    if (slot == lane.ring.filled())
        return false;
    pack_bytes(lane, lane.chunks.chunks[slot - lane.first_slot], lane.ring.at(slot));
    lane.ring.replace(slot);
    return true;
}

RESHARD_DECL bool ring_lanes::unpack(receive_state& lane) {
    if (lane.next == lane.chunks.chunks.size())
        return false;
    std::byte const* const slot = lane.ring.slot();
    if (!slot)
        return false;
    bound_chunk const& chunk = lane.chunks.chunks[lane.next];
    if (lane.ring.runs() == 0) {
        unpack_bytes(lane, chunk, slot);
    } else if (!read(lane, chunk, slot)) {
        lane.ring.refuse();
        return true;
    }
    lane.ring.pass();
    ++lane.next;
    arrivals_->add(chunk);
    return true;
}

RESHARD_DECL void ring_lanes::unpack_bytes(receive_state const& lane, bound_chunk const& chunk,
                                           std::byte const* bytes) const {
    row_batch blocks;
    for (std::size_t i = chunk.first; i < chunk.last; ++i) {
        bound_packet const& packet = lane.chunks.packets[i];
        blocks.add((*copies_)[packet.copy], bytes + packet.wire, packet.memory, packet.joins_next);
    }
    wait_for(*devices_);
}

RESHARD_DECL bool ring_lanes::read(receive_state const& lane, bound_chunk const& chunk,
                                   std::byte const* slot) {
    // Slots begin at cache lines, and the slot has room for the list: the sender has written it
    // there.
    std::span const runs(reinterpret_cast<memory_run const*>(slot), lane.ring.runs());
    bound_packet const& first = lane.chunks.packets[chunk.first];
    prepared_copy const& copy = (*copies_)[first.copy];
    if (chunk.last == chunk.first + 1 && copy.kernel == copy_kernel::contiguous)
        return read_process_(lane.process, runs, first.memory + copy.loop.target_offset);
    bool const was_read = read_process_(lane.process, runs, read_bytes_.data());
    if (was_read)
        unpack_bytes(lane, chunk, read_bytes_.data());
    return was_read;
}

RESHARD_DECL packed_sizes::packed_sizes(vector<bound_chunk> const& chunks) {
    for (bound_chunk const& chunk : chunks) {
        std::size_t const packed = chunk.direct ? 0 : static_cast<std::size_t>(chunk.bytes);
        largest = std::max(largest, packed);
        sum += packed;
    }
}

RESHARD_DECL bool chunk_window::is_peer_busy() const {
    std::size_t of_trees = 0;
    for (bound_chunk const* const other : under_way)
        of_trees += other && other->is_of_tree && other->peer == next_chunk().peer;
    return next_chunk().is_of_tree && of_trees >= most_of_trees;
}

RESHARD_DECL std::size_t chunk_window::start() {
    std::size_t const slot = idle.back();
    idle.pop_back();
    under_way[slot] = &all.chunks[next++];
    wire[slot] = nullptr;
    if (under_way[slot]->direct)
        return slot;
    if (has_room_for_all) {
        wire[slot] = staging.get() + used;
        used += static_cast<std::size_t>(under_way[slot]->bytes);
    } else {
        auto const own =
            common ? std::find(free.begin(), free.end(), own_wire(next - 1)) : free.end();
        auto const chosen = own == free.end() ? free.end() - 1 : own;
        wire[slot] = *chosen;
        free.erase(chosen);
    }
    return slot;
}

RESHARD_DECL void chunk_window::copy(std::size_t slot, copy_table const& table) {
    bound_chunk const& chunk = *under_way[slot];
    auto const copy_all = [&] {
        row_batch blocks;
        for (std::size_t i = chunk.first; i < chunk.last; ++i) {
            bound_packet const& packet = all.packets[i];
            std::byte* const packed = wire[slot] + packet.wire;
            blocks.add(table[packet.copy], sent ? packet.memory : packed,
                       sent ? packed : packet.memory, packet.joins_next);
        }
    };
    auto const number = static_cast<std::size_t>(&chunk - all.chunks.data());
    bool const is_same = common && (has_room_for_all || wire[slot] == own_wire(number));
    if (!is_same || !copies[number].start(copy_all, [&] { return common; }))
        copy_all();
}

RESHARD_DECL void chunk_window::open(bound_chunks chunks, std::shared_ptr<std::byte[]> memory) {
    all = std::move(chunks);
    packed_sizes const sizes(all.chunks);
    has_room_for_all = sizes.sum <= most_staged * sizes.largest;
    staging = std::move(memory);
    staging_bytes = static_cast<index_t>(sizes.staging());
    largest = sizes.largest;
    if (common)
        copies.resize(all.chunks.size());
    for (std::size_t i = 0; i < most_staged && !has_room_for_all; ++i)
        free.push_back(staging.get() + i * sizes.largest);
    for (std::size_t slot = in_flight; slot-- > 0;)
        idle.push_back(slot);
}

RESHARD_DECL exchange::exchange(mpi_group const& world, bound_plan const& bound,
                                process_transfers transfers)
    : world_(world),
      bound_(bound),
      devices_(bound.devices ? *bound.devices : device_list()),
      arrivals_(transfers.relayed),
      meetings_(transfers.meetings) {
    stores const write_mode = stores_for(transfers);
    chunk_binder const binder(bound_, write_mode, copies_);
    vector<std::uint32_t> moved;
    for (std::uint32_t const number : transfers.local)
        (bound_.whole.transfers[number].source_key == zero_source ? zeros_ : moved)
            .push_back(number);
    local_ = transfers.on_node.empty()
                 ? binder.copies(moved)
                 : transfers.copies_on_node(binder, bound_, transfers.on_node, moved, copies_);
    open(outgoing_, transfers.sends, true, write_mode);
    open(incoming_, transfers.receives, false, write_mode);
    if (!transfers.rings)
        return;
    rings_.use(*transfers.rings);
    bool const streams = transfers.rings->ways().streams;
    chunk_binder const packed(bound_, write_mode, copies_,
                              streams ? wire_place::memory : wire_place::cache);
    for (ring_transfers const& ring_transfers : transfers.through_rings) {
        rings_.add(packed.sends(ring_transfers.sends), ring_transfers.to);
        rings_.add(packed.receives(ring_transfers.receives), ring_transfers.from,
                   ring_transfers.process);
    }
}

/// Whether this MPI says that it reads and writes memory of that kind. The functions are looked up
/// when the program runs, since not every MPI has them.
inline bool mpi_reads(memory_space memory) {
    char const* const name = memory.kind == memory_space::cuda   ? "MPIX_Query_cuda_support"
                             : memory.kind == memory_space::rocm ? "MPIX_Query_rocm_support"
                                                                 : nullptr;
    void* const query = name ? ::dlsym(RTLD_DEFAULT, name) : nullptr;
    return query && reinterpret_cast<int (*)()>(query)() == 1;
}

/// The device of the tensors of chunks.
inline common_device device_of(bound_chunks const& chunks, copy_table const& copies) {
    common_device common;
    for (bound_packet const& packet : chunks.packets)
        common.add(copies[packet.copy].given.devices);
    for (bound_chunk const& chunk : chunks.chunks)
        common.makes_all = common.makes_all && !chunk.direct;
    return common;
}

RESHARD_DECL void exchange::open(chunk_window& window, vector<lane> const& lanes, bool sent,
                                 stores write_mode) {
    auto const bind = [&](device* wire_device) {
        chunk_binder const binder(bound_, write_mode, copies_, wire_place::message, wire_device);
        return sent ? binder.sends(lanes) : binder.receives(lanes);
    };
    bound_chunks chunks = bind(nullptr);
    std::size_t const bytes = packed_sizes(chunks.chunks).staging();
    common_device const common = device_of(chunks, copies_);
    device* const near = common.get();
    std::shared_ptr<std::byte[]> memory;
    if (near)
        memory = near->message_memory(bytes, mpi_reads(near->space()));
    if (memory)
        chunks = bind(near);
    else
        memory = common.first ? common.first->host_memory(bytes)
                              : std::make_unique_for_overwrite<std::byte[]>(bytes);
    window.sent = sent;
    window.common = bound_.scales ? nullptr : near; // copies that read scales change
    window.open(std::move(chunks), std::move(memory));
}

RESHARD_DECL void exchange::run() {
    if (devices_.empty())
        return move_all();
    std::optional<error> problem;
    try {
        return move_all();
    } catch (...) {
        problem = current_error();
        wait_after_error(devices_);
    }
    if (problem->code() == errc::deadline || world_.size() == 1)
        throw error(*problem);
    std::fprintf(stderr, "rank %d: %s\n", world_.rank(), problem->what());
    MPI_Abort(world_.base(), 1);
}

RESHARD_DECL void exchange::move_all() {
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
    for (auto* const window : {&outgoing_, &incoming_}) // MPI may still use it: kept until exit
        static_cast<void>(new std::shared_ptr<std::byte[]>(std::move(window->staging)));
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
    std::for_each(transfers.receives.begin(), transfers.receives.end(), add);
    for (ring_transfers const& ring_transfers : transfers.through_rings)
        std::for_each(ring_transfers.receives.begin(), ring_transfers.receives.end(), add);
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
    auto const copy_all = [&](auto const& after_some) {
        index_t bytes = 0;
        row_batch blocks;
        for (bound_copy const& copy : local_) {
            blocks.add(copies_[copy.copy], copy.source, copy.target, copy.joins_next);
            bytes += copy.bytes;
            if (bytes >= chunk_bytes) {
                after_some();
                bytes = 0;
            }
        }
    };
    auto const find = [&] {
        common_device common;
        for (bound_copy const& copy : local_)
            common.add(copies_[copy.copy].given.devices);
        return bound_.scales ? nullptr : common.get();
    };
    if (!local_copies_.start([&] { copy_all([] {}); }, find))
        copy_all([&] {
            while (advance()) // send all chunks that can be sent: others wait for them
                ;
        });
    wait_for(devices_);
}

RESHARD_DECL void exchange::post() {
    // Sends first. If a rank received first, it would answer its peer's announcements, and its own
    // announcements would wait for those bytes: two ranks that swap would take turns.
    vector<std::size_t> packed;
    while (outgoing_.can_start() && arrivals_.allow(outgoing_.next_chunk()) &&
           !outgoing_.is_peer_busy()) {
        std::size_t const slot = outgoing_.start();
        outgoing_.copy(slot, copies_);
        if (devices_.empty())
            send(slot);
        else
            packed.push_back(slot);
    }
    if (!packed.empty())
        wait_for(devices_); // once for all chunks
    for (std::size_t const slot : packed)
        send(slot);
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
    MPI_Isend(chunk.direct ? chunk.direct : outgoing_.wire[slot], chunk.bytes, MPI_BYTE, chunk.peer,
              world_.tag(), world_.base(), &requests_[in_flight + slot]);
    ++pending_;
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
        incoming_.copy(slot, copies_);
        wait_for(devices_);
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
