// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_IMPL_CONTROL_IPP
#define RESHARD_BRIDGE_IMPL_CONTROL_IPP

#include <reshard/bridge/control.hpp>

#include <reshard/core/error.hpp>
#include <reshard/os/process.hpp>
#include <reshard/os/waiting.hpp>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace reshard::detail {

RESHARD_DECL std::uint64_t version_behind(std::uint64_t version) {
    if (version >= last_version)
        fail(errc::usage, "no version can follow version ", version,
             ", because the largest version number is ", last_version,
             "; give a lower versions_before, or another path if a source there has come that far");
    return version + 1;
}

RESHARD_DECL control_block& control_in(std::byte* memory) {
    return *std::launder(reinterpret_cast<control_block*>(memory));
}

inline process_mark reader_of(reader_seat const& seat) {
    return {seat.process.load(), seat.started.load(), seat.space.load()};
}

/// Counts a reader that leaves with a version.
inline void count_leaving(control_block& control, std::uint64_t version) {
    std::uint64_t before = control.left.load();
    while (version != 0 && before >> 16 <= version) {
        std::uint64_t const after = (before >> 16 == version ? before : version << 16) + 1;
        if (control.left.compare_exchange_weak(before, after))
            return;
    }
}

/// The process number is cleared last, so a seat that another reader takes has no old data.
inline void free_seat(control_block& control, reader_seat& seat) {
    count_leaving(control, seat.has.exchange(0));
    seat.reads.store(0);
    seat.started.store(0);
    seat.space.store(0);
    seat.process.store(0);
}

RESHARD_DECL readers_seen look_at_readers(control_block& control) {
    readers_seen readers_seen{0, std::numeric_limits<std::uint64_t>::max(), 0};
    for (reader_seat& seat : control.seats) {
        process_mark const reader = reader_of(seat);
        if (reader.number == 0)
            continue;
        if (has_ended(reader)) {
            free_seat(control, seat);
            continue;
        }
        ++readers_seen.count;
        readers_seen.slowest = std::min(readers_seen.slowest, seat.has.load());
    }
    if (std::uint64_t const left = control.left.load(); left >> 16 == control.newest.load())
        readers_seen.left_with_newest = left & 0xffff;
    return readers_seen;
}

/// True if a reader reads the buffer of a version.
inline bool keeps(reader_seat const& seat, std::uint64_t version) {
    std::uint64_t const read = seat.reads.load();
    return read != 0 && read % 2 == version % 2;
}

/// The number of readers that read the buffer of a version. Frees the seats of readers that have
/// ended.
inline std::size_t count_keepers(control_block& control, std::uint64_t version) {
    std::size_t count = 0;
    for (reader_seat& seat : control.seats)
        if (keeps(seat, version)) {
            if (has_ended(reader_of(seat)))
                free_seat(control, seat);
            else
                ++count;
        }
    return count;
}

/// Ends the reads of late readers, so that the source does not wait for them again.
inline void revoke(control_block& control, std::uint64_t version) {
    for (reader_seat& seat : control.seats)
        if (std::uint64_t read = seat.reads.load(); keeps(seat, version))
            seat.reads.compare_exchange_strong(read, 0);
}

RESHARD_DECL std::size_t begin_version(control_block& control, std::uint64_t version,
                                       double seconds) {
    waiting patience(seconds);
    std::size_t late = count_keepers(control, version);
    while (late > 0 && !patience.is_over()) {
        patience.pause();
        late = count_keepers(control, version);
    }
    if (late > 0)
        revoke(control, version);
    control.arrived.store(0);
    control.holds[version % 2].store(0);
    std::atomic_thread_fence(std::memory_order_seq_cst); // readers see this before any new byte
    return late;
}

RESHARD_DECL void finish_version(control_block& control, std::uint64_t version,
                                 std::uint64_t ranks) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (control.arrived.fetch_add(1) + 1 < ranks)
        return;
    control.holds[version % 2].store(version);
    control.newest.store(version);
}

RESHARD_DECL bool is_intact(control_block const& control, std::uint64_t version) {
    std::atomic_thread_fence(std::memory_order_seq_cst); // all bytes were read before this check
    return control.holds[version % 2].load() == version;
}

RESHARD_DECL taken_seat::taken_seat(control_block& control) : control_(&control) {
    process_mark const me = this_process();
    look_at_readers(control);
    for (reader_seat& seat : control.seats)
        if (std::uint64_t none = 0; seat.process.compare_exchange_strong(none, me.number)) {
            seat.started.store(me.started);
            seat.space.store(me.space);
            seat_ = &seat;
            return;
        }
}

RESHARD_DECL taken_seat::taken_seat(taken_seat&& seat) noexcept
    : control_(std::exchange(seat.control_, nullptr)), seat_(std::exchange(seat.seat_, nullptr)) {}

RESHARD_DECL taken_seat& taken_seat::operator=(taken_seat&& seat) noexcept {
    std::swap(control_, seat.control_);
    std::swap(seat_, seat.seat_);
    return *this;
}

RESHARD_DECL taken_seat::~taken_seat() {
    if (seat_)
        free_seat(*control_, *seat_);
}

/// A source overwrites a version only after it has published a newer one and then checked the
/// seats. So if this version is still the newest after the seat has its number, the source will see
/// that number.
RESHARD_DECL std::uint64_t taken_seat::begin_reading() {
    std::uint64_t version = control_->newest.load();
    for (;;) {
        if (seat_)
            seat_->reads.store(version);
        std::uint64_t const now = control_->newest.load();
        if (now == version)
            return version;
        version = now;
    }
}

RESHARD_DECL void taken_seat::end_reading() {
    if (seat_)
        seat_->reads.store(0);
}

RESHARD_DECL void taken_seat::set_has(std::uint64_t version) {
    if (seat_)
        seat_->has.store(version);
}

} // namespace reshard::detail

#endif
