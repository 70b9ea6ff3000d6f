// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_NODE_RANKS_HPP
#define RESHARD_MPI_NODE_RANKS_HPP

#include <reshard/core/config.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/plan/options.hpp>

#include <vector>

/// \file
/// Which ranks share a node.

namespace reshard::detail {

/// The ranks of a node.
struct node_ranks {
    mpi_group group;
    std::vector<int> numbers; ///< in the group that was divided, ascending
};

/// How many ranks of a machine are taken for a node: as many as given, or, where that is 0, as the
/// environment variable RESHARD_RANKS_PER_NODE says; 0: all.
///
/// \throws error with errc::usage for a variable that is no number of ranks
RESHARD_DECL int ranks_per_node(int given);

/// The ranks that share memory with this one, `per_node` of them at most; 0: all.
///
/// \par Collective every rank of the group, with the same `per_node`
RESHARD_DECL node_ranks node_of(mpi_group const& world, int per_node);

/// The ranks of this rank's node, where all ranks say alike how many a node has.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank alike: errc::usage for a bad RESHARD_RANKS_PER_NODE,
///         errc::ranks_disagree where that differs
RESHARD_DECL node_ranks agreed_node_of(mpi_group const& ranks);

/// The nodes that the caller names (see `options::processes_per_node`), or those that are there.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `agreed_node_of`
RESHARD_DECL plan_options with_nodes(mpi_group const& ranks, holder_t processes_per_node);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/node_ranks.ipp>
#endif

#endif
