// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_NODE_COPIES_HPP
#define RESHARD_MPI_NODE_COPIES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/mpi/bound_chunks.hpp>
#include <reshard/mpi/shared_arena.hpp>
#include <reshard/tensor/view.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

/// \file
/// The order in which a process copies between its own memory and its neighbours' memory, and the
/// bytes that it writes there.

namespace reshard::detail {

/// A `bound_end` in little memory: there is one for each transfer.
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

/// Where a transfer comes from and goes to, likewise.
struct packed_ends {
    packed_end<void const*> source;
    packed_end<void*> target;

    operator copy_ends() const { return {source, target}; }
};

/// A transfer to or from another rank of the node that this process makes by itself.
struct node_transfer {
    std::uint32_t number = 0; ///< in the plan
    int distance = 0;         ///< to the other rank, counted cyclically
    bool is_pull = false;     ///< the source is the other rank's memory, not the target
    packed_ends ends;
};

/// The copies of transfers within the process, as if they were some of those on the node, and of
/// those, in an order that suits memory.
RESHARD_DECL std::vector<bound_copy> node_copies(chunk_binder const& binder,
                                                 bound_plan const& bound,
                                                 std::vector<node_transfer> const& on_node,
                                                 std::vector<std::uint32_t> const& local,
                                                 copy_table const& copies);

/// The bytes that will be written to one segment.
struct segment_writes {
    address_range segment;
    address_range hull = {0, 0}; ///< from the first byte to the last
    index_t bytes = 0;

    /// \pre the writes lie in the segment
    void add(address_range const& range, index_t written) {
        hull = bytes == 0 ? range
                          : address_range{std::min(hull.begin, range.begin),
                                          std::max(hull.end, range.end)};
        bytes += written;
    }

    /// False if most of the hull is left to other ranks, whose pages need not be mapped here.
    bool is_dense() const {
        return bytes > 0 && static_cast<std::uintptr_t>(bytes) >= (hull.end - hull.begin) / 4;
    }
};

/// What this process writes to the segments of an arena, its own first.
///
/// \pre   the arena has segments
/// \param taken copies of other ranks that it makes
/// \param local the numbers of those that it makes for itself
RESHARD_DECL std::vector<segment_writes> writes_of(bound_plan const& bound,
                                                   arena_state const& arena,
                                                   std::vector<node_transfer> const& taken,
                                                   std::vector<std::uint32_t> const& local);

/// Has the system take, at once, pages that were not written yet: a fault for each costs half as
/// much again.
RESHARD_DECL void prefault(std::vector<segment_writes> const& writes);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/node_copies.ipp>
#endif

#endif
