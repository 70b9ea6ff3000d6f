// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_SORTED_TRANSFERS_HPP
#define RESHARD_MPI_SORTED_TRANSFERS_HPP

#include <reshard/core/config.hpp>
#include <reshard/mpi/bound_chunks.hpp>
#include <reshard/plan/cost.hpp>

#include <cstdint>
#include <vector>

/// \file
/// The transfers of one process by the process at the other end.

namespace reshard::detail {

/// The transfers of one process by peer, and those that stay.
struct sorted_transfers {
    std::vector<std::vector<std::uint32_t>> to;
    std::vector<std::vector<std::uint32_t>> from;
    std::vector<std::uint32_t> local;
};

RESHARD_DECL sorted_transfers sort_by_peer(plan const& whole, int rank, int size);

/// How a process serves its peers.
struct lane_order {
    int rank = 0;
    int step = 1;                ///< 1: those behind it first; -1: those before it
    index_t limit = chunk_bytes; ///< of a chunk, equal at both ends
};

/// One lane a peer, those nearest in the direction of `step` first.
RESHARD_DECL std::vector<lane> rotated_lanes(plan const& whole,
                                             std::vector<std::vector<std::uint32_t>> const& by_peer,
                                             lane_order const& order);

/// The bytes of some transfers, as they travel.
RESHARD_DECL index_t bytes_of(plan const& whole, std::vector<std::uint32_t> const& numbers);

/// What this process and each other one give one another, the larger of both ways.
RESHARD_DECL std::vector<index_t> bytes_by_peer(plan const& whole, sorted_transfers const& sorted);

RESHARD_DECL process_cost cost_of(plan const& whole, sorted_transfers const& sorted);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/sorted_transfers.ipp>
#endif

#endif
