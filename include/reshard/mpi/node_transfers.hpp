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
/// Finds transfers that need no message: one end lies in memory that the rank at the other end can
/// access.

namespace reshard::detail {

/// The transfers of a tree that this process sends to one other process, or receives from it.
struct relay_transfers {
    std::uint32_t tree = 0; ///< index among the plan's trees
    int peer = 0;
    std::uint32_t depth = 0; ///< how often the elements were passed on before
    vector<std::uint32_t> numbers;
};

/// The transfers of one process: direct ones by peer, relayed ones by peer and tree, and local
/// ones.
struct sorted_transfers {
    vector<vector<std::uint32_t>> to;
    vector<vector<std::uint32_t>> from;
    vector<std::uint32_t> local;
    vector<relay_transfers> relays_to = {}; ///< sorted by peer, here and below
    vector<relay_transfers> relays_from = {};
};

RESHARD_DECL sorted_transfers sort_by_peer(plan const& plan, int rank, int size);

/// The most bytes of a chunk, equal at both ends.
struct chunk_limits {
    index_t far = chunk_bytes;
    index_t near = chunk_bytes;
    index_t relayed = chunk_bytes; ///< equal on all ranks: a rank passes chunks on unchanged
    std::span<int const> node{};   ///< the ranks that are near, ascending

    bool is_near(int rank) const { return std::binary_search(node.begin(), node.end(), rank); }
};

/// The order in which a process serves its peers.
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

/// Makes each chunk that this process passes on wait for the chunk that brings its elements.
///
/// \return the number of chunks that other chunks wait for
/// \throws error with errc::bad_layout if a plan, for example from a file, passes on elements that
///         do not arrive
RESHARD_DECL std::size_t link_relays(plan const& plan, vector<lane>& sends, vector<lane>& receives);

/// The bytes of some transfers on the wire.
RESHARD_DECL index_t bytes_of(plan const& plan, vector<std::uint32_t> const& numbers);

/// For each peer, the bytes that this process exchanges with it, in the direction with more bytes.
RESHARD_DECL vector<index_t> bytes_by_peer(plan const& plan, sorted_transfers const& sorted);

/// \pre `values` is not empty
inline index_t largest(vector<index_t> const& values) {
    return *std::max_element(values.begin(), values.end());
}

/// Removes from `sorted` the transfers between this process and `peers`, which are ascending.
RESHARD_DECL void leave_out(sorted_transfers& sorted, std::span<int const> peers);

RESHARD_DECL process_cost cost_of(plan const& plan, sorted_transfers const& sorted);

struct arena_state;

/// The arenas of both sides; null for a side without an arena.
struct side_arenas {
    std::shared_ptr<arena_state const> source;
    std::shared_ptr<arena_state const> target;
};

/// The steps of a call with arenas. A program without arenas compiles none of them.
struct arena_steps {
    /// \throws error with errc::usage if other ranks made the arena
    void (*check)(mpi_group const& world, arena_state const& arena);

    /// Removes from `sorted` the transfers that a rank of the node makes directly in an arena.
    /// Returns those transfers that this rank makes.
    ///
    /// \par Collective every rank of the group, in the same order
    vector<node_transfer> (*take)(mpi_group const& ranks, bound_plan const& bound,
                                  side_arenas const& arenas, sorted_transfers& sorted);

    node_copier copies;

    /// The barriers at which the ranks of each arena's node meet.
    vector<shared_barrier> (*meetings)(side_arenas const& arenas);

    /// Prefaults the pages that the first job of an arena writes to.
    ///
    /// \param taken the transfers with other ranks that this rank makes
    /// \param local the numbers of the transfers within this process
    void (*prefault)(bound_plan const& bound, arena_state const& target,
                     vector<node_transfer> const& taken, vector<std::uint32_t> const& local);
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/node_transfers.ipp>
#endif

#endif
