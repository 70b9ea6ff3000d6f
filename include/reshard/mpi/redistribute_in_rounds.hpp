// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_REDISTRIBUTE_IN_ROUNDS_HPP
#define RESHARD_MPI_REDISTRIBUTE_IN_ROUNDS_HPP

#include <reshard/core/config.hpp>
#include <reshard/mpi/laid_out.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/redistribution.hpp>
#include <reshard/plan/rounds.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// \file
/// A redistribution whose tensors do not all fit in memory at once.

namespace reshard {

/// The memory of a rank, as a redistribution in rounds asks for it and gives it back.
struct round_memory {
    /// The most bytes of tensors and staging that a rank may need; equal on every rank.
    index_t budget = any_budget;
    /// This rank's shards of these target tensors, allocated now.
    std::function<state_dict(std::vector<std::string> const& keys)> allocate;
    /// Nothing reads this rank's shards of these source tensors any more.
    std::function<void(std::vector<std::string> const& keys)> release = {};
};

/// What a redistribution in rounds has done.
///
/// \par Units bytes of this rank
struct rounds_report {
    plan_rounds planned;            ///< the same on every rank
    index_t most_staging_bytes = 0; ///< that were allocated in a round
};

namespace detail {

/// Some tensors of a layout; `numbers` ascending.
RESHARD_DECL compact_layout part_of(compact_layout const& all,
                                    std::vector<std::uint32_t> const& numbers);

RESHARD_DECL std::vector<std::string> keys_of(compact_layout const& all);

/// The shards of other tensors than these.
RESHARD_DECL const_state_dict without(const_state_dict const& held, std::vector<std::string> keys);

} // namespace detail

/// `redistribute` with at most `memory.budget` bytes of tensors and staging on a rank.
///
/// The rounds are those of `rounds_of`, and every rank makes them. In each, target tensors are
/// allocated and filled, and what no later round reads is given up. Time grows with rounds times
/// keys, beside what is moved. Source tensors that the program does not name are neither counted
/// nor given up. A layout that nobody knows is gathered, whatever `gather_up_to` says. All travels
/// in messages, as `node_exchange::messages` has it.
///
/// \param target the layout of the targets, equal on every rank that the group has
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank alike: as `redistribute`; before anything is allocated with
///         errc::limit_exceeded as `rounds_of`, with errc::usage where `allocate` is empty or there
///         is an arena; what `allocate` or `release` throw on a rank; errc::memory_overlap, too,
///         for memory of earlier rounds and of sources that have not been given up
RESHARD_DECL rounds_report redistribute_in_rounds(mpi_group const& world,
                                                  laid_out<const_tensor_view> source,
                                                  compact_layout target, round_memory const& memory,
                                                  redistribution how = {});

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/redistribute_in_rounds.ipp>
#endif

#endif
