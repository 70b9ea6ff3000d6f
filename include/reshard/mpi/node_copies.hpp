// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_NODE_COPIES_HPP
#define RESHARD_MPI_NODE_COPIES_HPP

#include <reshard/core/config.hpp>
#include <reshard/mpi/bound_chunks.hpp>

#include <cstdint>
#include <vector>

/// \file
/// The order in which a process copies between its own memory and that of its neighbours.

namespace reshard {

/// A transfer to or from another rank of the node that this process makes by itself.
struct node_transfer {
    std::uint32_t number = 0; ///< in the plan
    int distance = 0;         ///< to the other rank, counted cyclically
    bool is_pull = false;     ///< the source is the other rank's memory, not the target
    copy_ends ends;
};

namespace detail {

/// The copies of transfers within the process and within the node, in an order that suits memory.
RESHARD_DECL std::vector<bound_copy> node_copies(chunk_binder const& binder,
                                                 bound_plan const& bound,
                                                 std::vector<node_transfer> const& all,
                                                 copy_table const& copies);

/// Transfers within the process as if they were some of those on the node.
RESHARD_DECL std::vector<node_transfer> with_local(bound_plan const& bound,
                                                   std::vector<node_transfer> const& on_node,
                                                   std::vector<std::uint32_t> const& local);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/node_copies.ipp>
#endif

#endif
