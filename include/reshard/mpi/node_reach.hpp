// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_NODE_REACH_HPP
#define RESHARD_MPI_NODE_REACH_HPP

#include <reshard/core/config.hpp>
#include <reshard/mpi/bound_chunks.hpp>
#include <reshard/mpi/node_copies.hpp>
#include <reshard/mpi/shared_arena.hpp>
#include <reshard/mpi/sparse_exchange.hpp>
#include <reshard/plan/cost.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

/// \file
/// Which transfers need no message: one end lies in memory that the rank at the other end reaches.

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

/// The arenas of both sides; null where there is none.
struct side_arenas {
    std::shared_ptr<arena_state const> source;
    std::shared_ptr<arena_state const> target;
};

/// Finds transfers whose source or target lies in an arena, and lets one of the two ranks make
/// them.
///
/// For each pair of ranks both list the transfers between them in the order of the plan, and tell
/// one another where those ends lie that the other one reaches. So both know the same: a transfer
/// whose target is told is pushed by the source, another one whose source is told is pulled by the
/// target.
class node_reach {
public:
    node_reach(bound_plan const& bound, side_arenas const& arenas, mpi_group const& ranks);

    /// What each neighbour has to know of this rank's memory.
    std::vector<addressed_text> tell(sorted_transfers const& all) const;

    /// Takes the transfers that need no message out of `all`; those that this rank makes are the
    /// result.
    ///
    /// \pre `told` is what came of the texts of all ranks
    std::vector<node_transfer> take(sorted_transfers& all,
                                    std::vector<addressed_text> const& told) const;

private:
    using numbers = std::vector<std::uint32_t>;

    /// Where an end lies, in bytes from the begin of its rank's arena; nothing where it does not.
    using told_end = std::optional<bound_end<index_t>>;
    using told_ends = std::vector<told_end>::const_iterator;

    /// Transfers from a neighbour whose targets may lie in the arena, and to one that may lie
    /// there.
    numbers const& incoming(sorted_transfers const& all, int peer) const;
    numbers const& outgoing(sorted_transfers const& all, int peer) const;

    static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

    transfer const& moved(std::uint32_t number) const;

    /// This rank's end of a transfer, if it lies in the arena.
    ///
    /// Elements of less than a byte are not written by others: two ranks would change the same
    /// byte.
    std::optional<bound_end<void const*>> own_target(std::uint32_t number) const;
    std::optional<bound_end<void const*>> own_source(std::uint32_t number) const;

    static bool holds(arena_state const& arena, const_tensor_view const& tensor);

    static told_end told(std::optional<bound_end<void const*>> const& end,
                         std::shared_ptr<arena_state const> const& arena);

    /// \pre `peer` is a rank of the arena's node, and has told of another end
    static std::optional<bound_end<void*>> next_end(told_ends& from, arena_state const& arena,
                                                    int peer);

    /// Transfers to `peer`: pushed by this rank, or pulled by the peer.
    void take_pushed(told_ends& from, int peer, numbers& all,
                     std::vector<node_transfer>& made) const;

    /// Transfers from `peer`: pushed by it, or pulled by this rank.
    void take_pulled(told_ends& from, int peer, numbers& all,
                     std::vector<node_transfer>& made) const;

    /// How many ranks on `peer` is, counted round.
    int turn_of(int peer) const { return peer > rank_ ? peer - rank_ : peer - rank_ + size_; }

    bound_plan const& bound_;
    side_arenas const& arenas_;
    int rank_;
    int size_;
    numbers none_ = {};
};

/// Where the ranks of both nodes wait for one another.
RESHARD_DECL std::vector<yielding_barrier> meetings_of(side_arenas const& arenas);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/node_reach.ipp>
#endif

#endif
