// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_ROUNDS_HPP
#define RESHARD_PLAN_ROUNDS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/layout/shard_table.hpp>
#include <reshard/plan/options.hpp>
#include <reshard/plan/plan.hpp>

#include <cstdint>
#include <vector>

/// \file
/// A plan in rounds, so that no process needs more memory than it may.

namespace reshard {

class plan_flows;

namespace detail {

/// Target tensors that are allocated and filled together, and what can be given up afterwards.
///
/// \par Units bytes
struct plan_round {
    std::uint32_t first = 0;              ///< the first of the problem's target tensors
    std::uint32_t last = 0;               ///< one behind the last
    std::vector<detail::key_id> released; ///< source tensors that no later round needs, in order
    index_t transfers = 0;
    index_t bytes = 0;         ///< all that is written
    index_t bytes_local = 0;   ///< of them, within a process
    index_t peak_bytes = 0;    ///< the most memory that a process needs in it
    holder_t peak_process = 0; ///< the first that needs so much

    constexpr bool operator==(plan_round const&) const = default;
};

/// All rounds, in their order.
struct plan_rounds {
    std::vector<plan_round> rounds;
    index_t least_budget = 0; ///< the smallest with which there are rounds

    constexpr bool operator==(plan_rounds const&) const = default;
};

} // namespace detail

/// The rounds in which a plan is carried out with at most `budget` bytes on each process: as few as
/// can be, where target tensors are filled in the order of their keys.
///
/// A process needs the source tensors that have not been released, the target tensors of this round
/// and of those before, and what it stages (`staging_of`). A target tensor is filled in one round.
///
/// \par Units bytes
/// \post every target tensor is in one round, and so is each transfer
/// \throws error with errc::limit_exceeded where a round of one target tensor needs more than the
///         budget: it names the tensor, the rank, both numbers, and a budget that does
RESHARD_DECL detail::plan_rounds rounds_of(plan_flows const& flows, holder_t processes,
                                           index_t budget = detail::any_budget);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/rounds.ipp>
#endif

#endif
