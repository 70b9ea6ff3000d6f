// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_PACKETS_HPP
#define RESHARD_MPI_PACKETS_HPP

#include <reshard/core/box.hpp>
#include <reshard/core/config.hpp>
#include <reshard/plan/cost.hpp>
#include <reshard/plan/plan.hpp>

#include <cstdint>
#include <vector>

/// \file
/// What passes between two processes, cut into chunks that both sides count alike.

namespace reshard::detail {

/// The box of one transfer that travels in one chunk.
///
/// On the wire its elements stand in row-major order of the target's axes, in the wire data type,
/// and the packet begins at a byte of its own.
struct packet {
    std::uint32_t transfer = 0;       ///< place in the plan
    std::uint32_t region = all_of_it; ///< of the chunk's
    index_t bytes = 0;

    /// The region of a packet that is a whole transfer.
    static constexpr std::uint32_t all_of_it = 0xffffffff;

    bool operator==(packet const&) const = default;
};

/// Packets of one message, at most `chunk_bytes` of them (one element at least).
struct chunk {
    std::vector<packet> packets;
    std::vector<box> regions{}; ///< of packets that are parts of transfers
    index_t bytes = 0;
};

/// The chunks in which the transfers `numbers` travel, in their order: a pure function of their
/// geometry, which both sides evaluate.
///
/// \par Units `limit` in bytes
RESHARD_DECL std::vector<chunk> chunks_of(plan const& whole,
                                          std::vector<std::uint32_t> const& numbers,
                                          index_t limit = chunk_bytes);

/// The box of its transfer's extent that a packet is, in the order of the target's axes.
///
/// \pre the packet is one of the chunk's
RESHARD_DECL box region_of(plan const& whole, chunk const& all, packet const& one);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/packets.ipp>
#endif

#endif
