// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_NODE_RINGS_HPP
#define RESHARD_MPI_NODE_RINGS_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/mpi/node_ranks.hpp>
#include <reshard/mpi/node_segments.hpp>
#include <reshard/os/slot_ring.hpp>

#include <cstddef>
#include <memory>
#include <vector>

/// \file
/// Rings between all ranks of a node.

namespace reshard::detail {

/// A ring for each pair of ranks of a node and each direction, in memory of the rank that fills it.
class node_rings {
public:
    /// The memory that a rank gives for its rings.
    static constexpr index_t budget_bytes = index_t{4} << 20;

    /// Slots for more would be too small to be worth passing.
    static constexpr std::size_t most_ranks = 65;

    /// Enough for one to be filled while one is emptied, and for a rank that lost its core.
    static constexpr int slots_each = 4;

    /// \par Collective every rank of the node, in the same order
    /// \throws error with errc::io, on every rank of the node alike, where one is refused something
    node_rings(node_ranks const& node, segment_request const& wanted);

    /// The most bytes of a chunk on a node of that many ranks.
    static std::size_t slot_bytes_for(int ranks);

    /// The same on this node.
    std::size_t slot_bytes() const { return slot_bytes_for(size()); }

    node_ranks const& node() const { return node_; }

    /// \pre called once for each other rank of the node, by its number there; here and below
    ring_sender sender_to(int peer) const;
    ring_receiver receiver_from(int peer) const;

private:
    /// All states, then all slots.
    static index_t states_bytes(int ranks);
    static index_t bytes_for(int ranks);

    int size() const;

    std::byte* state_at(int from, int to) const;
    ring_state& state_of(int from, int to) const;
    ring_slots slots_of(int from, int to) const;

    node_ranks node_;
    node_segments segments_;
};

/// Rings, or null where a rank of the node is alone or is refused shared memory.
///
/// \par Collective every rank of the node, in the same order
RESHARD_DECL std::shared_ptr<node_rings const> make_rings(node_ranks const& node,
                                                          system_calls const& calls = {});

/// The rings through which a redistribution passes what ranks of a node have in memory of their
/// own; null where it passes messages: where there is little to pass, or more ranks than rings are
/// for.
///
/// \param bytes what this rank and each other one give one another, the larger of both ways
/// \par Collective every rank of the group, in the same order
/// \throws error as `agreed_node_of`
RESHARD_DECL std::shared_ptr<node_rings const>
rings_for(mpi_group const& ranks, std::vector<index_t> const& bytes, node_exchange how);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/node_rings.ipp>
#endif

#endif
