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

/// A `bound_end` in little memory, because each transfer has one.
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

/// The source and the target of a transfer, likewise.
struct packed_ends {
    packed_end<void const*> source;
    packed_end<void*> target;

    operator copy_ends() const { return {source, target}; }
};

/// A transfer to or from another rank of the node that only this process makes.
struct node_transfer {
    std::uint32_t number = 0; ///< in the plan
    int distance = 0;         ///< to the other rank, counted cyclically
    bool is_pull = false;     ///< the source is the other rank's memory, not the target
    packed_ends ends;
};

/// The copies of transfers within the process and on the node, together in one order that suits
/// memory.
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
