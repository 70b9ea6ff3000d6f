// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_NODE_COPIES_HPP
#define RESHARD_MPI_NODE_COPIES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/mpi/bound_chunks.hpp>
#include <reshard/tensor/view.hpp>

#include <algorithm>
#include <cstdint>

/// \file
/// The order in which a process copies between its own memory and its neighbours' memory.

namespace reshard::detail {

/// A compact `bound_end`: a process keeps two for each transfer on its node.
template <class Pointer>
struct packed_end {
    Pointer data{};
    index_t offset = 0;
    packed_vector strides{};

    packed_end() = default;
    packed_end(bound_end<Pointer> const& end)
        : data(end.data), offset(end.position.offset), strides(end.position.strides) {}

    operator bound_end<Pointer>() const { return {data, {offset, strides}}; }
};

/// The source and the target of a transfer, likewise compact.
struct packed_ends {
    packed_end<void const*> source;
    packed_end<void*> target;

    operator copy_ends() const { return {source, target}; }
};

/// A transfer between this process and another rank of its node. Only this process makes it.
struct node_transfer {
    std::uint32_t number = 0; ///< index in the plan
    int distance = 0;         ///< to the other rank, counted cyclically
    bool is_pull = false;     ///< true if the other rank has the source, false if it has the target
    packed_ends ends;
};

/// The copies of all transfers within the process and on the node, in an order that suits the
/// caches.
RESHARD_DECL vector<bound_copy> node_copies(chunk_binder const& binder, bound_plan const& bound,
                                            vector<node_transfer> const& on_node,
                                            vector<std::uint32_t> const& local,
                                            copy_table const& copies);

using node_copier = decltype(&node_copies);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/node_copies.ipp>
#endif

#endif
