// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_RELABELLING_HPP
#define RESHARD_PLAN_RELABELLING_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/layout.hpp>

#include <cstdint>
#include <vector>

/// \file
/// Which process plays which rank of a target, so that the fewest bytes move.

namespace reshard {

/// Which process plays which rank.
struct relabelling {
    std::vector<holder_t> process_of; ///< by rank of the target; no process twice
    index_t bytes = 0;                ///< of all shards of the target
    index_t bytes_kept = 0;           ///< of these, what their processes have themselves
    index_t bytes_kept_before = 0;    ///< the same where process `r` plays rank `r`

    /// A layout of ranks as one of the processes that play them.
    RESHARD_DECL layout of_processes(layout const& ranks) const;
};

/// The relabelling that keeps the most bytes where they are. Processes are those of the source, and
/// as many more as the target has ranks. Where no relabelling keeps more than none, it is none.
///
/// Exact: an assignment problem between kinds of ranks, those that hold the same boxes.
///
/// \param processes_per_node a process only plays a rank in the place of one on its own node, of
///        so many; 0: any rank
/// \throws error as `make_patterns`
RESHARD_DECL relabelling best_relabelling(mapping const& program, layout const& source,
                                          layout const& target, holder_t processes_per_node = 0);

/// The same for tensors that keep their names.
RESHARD_DECL relabelling best_relabelling(layout const& source, layout const& target,
                                          holder_t processes_per_node = 0);

namespace detail {

/// What one of a row is worth in a column.
struct gain {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    index_t value = 0;

    constexpr std::uint64_t place() const { return std::uint64_t{row} << 32 | column; }
};

/// How many of a row go to a column.
struct assigned {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    holder_t count = 0;
};

/// Gives units of rows to columns so that the sum of their gains is the greatest. What is worth
/// nothing is not assigned.
///
/// \param gains by row and column, each pair at most once
/// \param supply by row: how many units there are
/// \param demand by column: how many it takes
RESHARD_DECL std::vector<assigned> best_assignment(std::vector<gain> gains,
                                                   std::vector<holder_t> supply,
                                                   std::vector<holder_t> demand);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/relabelling.ipp>
#endif

#endif
