// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_NODE_TRANSFERS_HPP
#define RESHARD_MPI_NODE_TRANSFERS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/mpi/bound_chunks.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/node_copies.hpp>
#include <reshard/os/shared_barrier.hpp>
#include <reshard/plan/cost.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

/// \file
/// Finds transfers that need no message: one end lies in memory that the rank at the other end
/// reaches.

namespace reshard::detail {

/// The transfers of a tree that this process gives one other process, or gets from it.
struct relay_transfers {
    std::uint32_t tree = 0; ///< of the plan's
    int peer = 0;
    std::uint32_t depth = 0; ///< how often it was passed on before
    vector<std::uint32_t> numbers;
};

/// The transfers of one process: by peer, relayed ones by tree, and local ones.
struct sorted_transfers {
    vector<vector<std::uint32_t>> to;
    vector<vector<std::uint32_t>> from;
    vector<std::uint32_t> local;
    vector<relay_transfers> relays_to = {}; ///< by peer, here and below
    vector<relay_transfers> relays_from = {};
};

RESHARD_DECL sorted_transfers sort_by_peer(plan const& plan, int rank, int size);

/// The most bytes of a chunk, equal at both ends.
struct chunk_limits {
    index_t far = chunk_bytes;
    index_t near = chunk_bytes;
    index_t relayed = chunk_bytes; ///< equal on all ranks: each passes on all chunks that it gets
    std::span<int const> node{};   ///< the ranks that are near, in order

    bool is_near(int rank) const { return std::ranges::binary_search(node, rank); }
};

/// How a process serves its peers.
struct lane_order {
    int rank = 0;
    int step = 1; ///< 1: ranks after it first; -1: ranks before it
    chunk_limits limits{};
};

/// One lane per peer, the nearest peer in the direction of `step` first. The lanes of a peer's
/// trees follow its lane, in the same order at both ends.
///
/// \param relays by peer
RESHARD_DECL vector<lane> rotated_lanes(plan const& plan,
                                        vector<vector<std::uint32_t>> const& by_peer,
                                        vector<relay_transfers> const& relays,
                                        lane_order const& order);

/// Lets chunks that a process passes on wait for those that bring them.
///
/// \return how many chunks others wait for
/// \throws error with errc::bad_layout if a plan, for example from a file, passes on chunks that do
///         not arrive
RESHARD_DECL std::size_t link_relays(plan const& plan, vector<lane>& sends, vector<lane>& receives);

/// The bytes of some transfers, as they travel.
RESHARD_DECL index_t bytes_of(plan const& plan, vector<std::uint32_t> const& numbers);

/// The bytes that this process and each other process exchange, the larger of both directions.
RESHARD_DECL vector<index_t> bytes_by_peer(plan const& plan, sorted_transfers const& sorted);

/// Removes the transfers between this process and some peers from `sorted`. The peers are in order.
RESHARD_DECL void leave_out(sorted_transfers& sorted, std::span<int const> peers);

RESHARD_DECL process_cost cost_of(plan const& plan, sorted_transfers const& sorted);

struct arena_state;

/// The arenas of both sides; null for a side without an arena.
struct side_arenas {
    std::shared_ptr<arena_state const> source;
    std::shared_ptr<arena_state const> target;
};

/// The steps of a call with arenas. A call without any compiles none of it.
struct arena_steps {
    /// \throws error with errc::usage if other ranks made the arena
    void (*check)(mpi_group const& world, arena_state const& arena);

    /// Lets ranks of a node make transfers whose ends lie in arenas, and removes them from
    /// `sorted`. Returns the transfers that this rank makes.
    ///
    /// \par Collective every rank of the group, in the same order
    vector<node_transfer> (*take)(mpi_group const& ranks, bound_plan const& bound,
                                  side_arenas const& arenas, sorted_transfers& sorted);

    node_copier copies;

    /// The barriers at which the ranks of both nodes meet.
    vector<shared_barrier> (*meetings)(side_arenas const& arenas);

    /// Prefaults the pages that the first job of an arena writes to.
    ///
    /// \param taken transfers of other ranks that this rank makes
    /// \param local the numbers of the transfers that it makes for itself
    void (*prefault)(bound_plan const& bound, arena_state const& target,
                     vector<node_transfer> const& taken, vector<std::uint32_t> const& local);
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/node_transfers.ipp>
#endif

#endif
