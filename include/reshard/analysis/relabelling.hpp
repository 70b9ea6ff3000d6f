// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ANALYSIS_RELABELLING_HPP
#define RESHARD_ANALYSIS_RELABELLING_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/layout.hpp>

/// \file
/// Chooses the process that plays each rank of a target, so that the fewest bytes move.

namespace reshard {

/// The process that plays each rank.
struct relabelling {
    vector<holder_t> process_of;   ///< by rank of the target; distinct
    index_t bytes = 0;             ///< of all shards of the target
    index_t bytes_kept = 0;        ///< bytes of `bytes` that are already in the right processes
    index_t bytes_kept_before = 0; ///< the same if process `r` plays rank `r`

    /// Replaces the ranks of a layout by the processes that play them.
    RESHARD_DECL layout of_processes(layout const& ranks) const;
};

/// The relabelling for which the most bytes stay in their processes. Processes are those of the
/// source, and more if the target has more ranks. If no relabelling keeps more bytes, process `r`
/// plays rank `r`.
///
/// The result is exact. The function solves an assignment problem between classes of ranks and
/// classes of processes; members of a class hold the same boxes.
///
/// \param processes_per_node the number of processes on a node: each rank stays on the node of the
///        process with its number; 0: on any node
/// \throws the errors of `make_plan`
RESHARD_DECL relabelling best_relabelling(mapping const& program, layout const& source,
                                          layout const& target, holder_t processes_per_node = 0);

/// The same for tensors that keep their names.
RESHARD_DECL relabelling best_relabelling(layout const& source, layout const& target,
                                          holder_t processes_per_node = 0);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/analysis/impl/relabelling.ipp>
#endif

#endif
