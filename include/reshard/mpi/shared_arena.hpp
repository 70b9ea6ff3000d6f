// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_SHARED_ARENA_HPP
#define RESHARD_MPI_SHARED_ARENA_HPP

#include <reshard/bind/job.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/node_segments.hpp>
#include <reshard/os/arena_resource.hpp>
#include <reshard/os/page_advice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string>

/// \file
/// Memory for tensors. The ranks of a node reach it without messages.

namespace reshard {

/// The options for making an arena.
struct arena_options {
    /// How many ranks of a machine form a node. 0: the value of the environment variable
    /// RESHARD_RANKS_PER_NODE, or all ranks if it is not set.
    int ranks_per_node = 0;
    detail::page_advice pages = {};
    detail::system_calls calls = {};
};

namespace detail {

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

    /// True if this process writes enough of the hull that mapping all its pages is worth the time.
    bool is_dense() const {
        return bytes > 0 && static_cast<std::uintptr_t>(bytes) >= (hull.end - hull.begin) / 4;
    }
};

/// The steps of a call with arenas.
RESHARD_DECL arena_steps const& steps_of_arenas();

/// The resources that an arena shares with the jobs that use it.
struct arena_state {
    mpi_group world;        ///< the group that made the arena
    mpi_group node;         ///< the ranks of `world` that share memory
    vector<int> node_ranks; ///< the numbers of `node`'s ranks in `world`, ascending
    std::unique_ptr<node_segments> segments; ///< null if the system refuses
    std::string refusal;                     ///< why `segments` is null
    std::unique_ptr<private_memory> own;     ///< private memory, if `segments` is null
};

} // namespace detail

/// Memory for tensors, with a piece for each rank. The ranks of a node can access each other's
/// pieces.
///
/// If `prepare` gets an arena with the targets, the rank that holds an element writes it directly
/// to its target, without messages. The first such `prepare` prefaults the memory that will be
/// written. If `prepare` gets an arena with the sources, the rank that needs an element reads it
/// directly from its source. If the system refuses shared memory to any rank of a node, or if the
/// node has only one rank, each rank's memory is private, and transfers work as without an arena.
///
/// An arena owns communicators, so every rank must destroy its arenas in the same order. Jobs made
/// with an arena keep its memory; the caller must keep the tensors in it. Only one thread at a time
/// may use its resource.
class shared_arena : public detail::any_arena {
public:
    /// Allocates `bytes` of memory on this rank. The number may differ among ranks. Each tensor
    /// needs up to 128 bytes more than its elements.
    ///
    /// \par Collective every rank of the group, in the same order
    /// \throws error on every rank: errc::usage for fewer than 0 bytes, or a bad
    ///         RESHARD_RANKS_PER_NODE; errc::ranks_disagree if its value differs among ranks;
    ///         errc::io if there is not enough memory
    shared_arena(mpi_group const& world, index_t bytes, arena_options const& options = {});

    /// True if the ranks of this node can access each other's memory. Equal on all ranks of the
    /// node.
    bool is_shared() const { return state_->segments != nullptr; }

    /// The reason why the memory is not shared, for a log; else empty. Equal on all ranks of the
    /// node.
    std::string const& refusal() const { return state_->refusal; }

    /// Allocates tensors in this rank's memory.
    std::pmr::memory_resource* resource() const { return resource_.get(); }

    /// The ranks of this node, by their numbers in the group, ascending.
    vector<int> const& node_ranks() const { return state_->node_ranks; }

private:
    void take(detail::arena_state& state, index_t bytes, arena_options const& options);

    std::unique_ptr<detail::arena_resource> resource_;
};

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/arena_transfers.ipp>
#include <reshard/mpi/impl/shared_arena.ipp>
#endif

#endif
