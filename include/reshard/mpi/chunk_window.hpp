// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_CHUNK_WINDOW_HPP
#define RESHARD_MPI_CHUNK_WINDOW_HPP

#include <reshard/mpi/bound_chunks.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

/// \file
/// The chunks of one direction that are under way, and the memory that they are packed in.

namespace reshard::detail {

/// Chunks under way: as many as outlast a time slice, so that a sender that waits for its core
/// starves no receiver.
inline constexpr std::size_t in_flight = 64;

/// Those of them that need staging memory: few, so that they stay in a core's cache.
inline constexpr std::size_t most_staged = 4;

/// Chunks in order, and those that are under way. The staging memory is kept from run to run.
template <class Byte>
struct chunk_window {
    bound_chunks<Byte> all;
    std::size_t next = 0;
    bound_chunk<Byte> const* under_way[in_flight] = {};
    std::byte* wire[in_flight] = {}; ///< null where the chunk is direct
    std::vector<std::size_t> idle;   ///< places in `under_way`
    std::vector<std::byte*> free;    ///< places in `staging`
    std::unique_ptr<std::byte[]> staging;
    index_t staging_bytes = 0;
    bool has_room_for_all = false; ///< each packed chunk has a place of its own
    std::size_t used = 0;          ///< of `staging`, where that is so

    void open(bound_chunks<Byte> chunks) {
        all = std::move(chunks);
        std::size_t largest = 0, sum = 0;
        for (bound_chunk<Byte> const& one : all.chunks) {
            std::size_t const packed = one.direct ? 0 : static_cast<std::size_t>(one.bytes);
            largest = std::max(largest, packed);
            sum += packed;
        }
        has_room_for_all = sum <= most_staged * largest;
        std::size_t const bytes = std::min(sum, most_staged * largest);
        staging = std::make_unique_for_overwrite<std::byte[]>(bytes);
        staging_bytes = static_cast<index_t>(bytes);
        for (std::size_t i = 0; i < most_staged && !has_room_for_all; ++i)
            free.push_back(staging.get() + i * largest);
        for (std::size_t slot = in_flight; slot-- > 0;)
            idle.push_back(slot);
    }

    void rewind() {
        next = 0;
        used = 0;
    }

    /// True where the next chunk has a slot and memory to wait in.
    bool can_start() const {
        return next < all.chunks.size() && !idle.empty() &&
               (all.chunks[next].direct || has_room_for_all || !free.empty());
    }

    /// Gives the next chunk a slot.
    std::size_t start() {
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
            wire[slot] = free.back();
            free.pop_back();
        }
        return slot;
    }

    void finish(std::size_t slot) {
        idle.push_back(slot);
        if (wire[slot] && !has_room_for_all)
            free.push_back(wire[slot]);
    }
};

} // namespace reshard::detail

#endif
