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
    vector<holder_t> process_of;   ///< by rank of the target; no process twice
    index_t bytes = 0;             ///< of all shards of the target
    index_t bytes_kept = 0;        ///< bytes of `bytes` that their processes already have
    index_t bytes_kept_before = 0; ///< the same if process `r` plays rank `r`

    /// A layout of ranks as one of the processes that play them.
    RESHARD_DECL layout of_processes(layout const& ranks) const;
};

/// The relabelling that keeps the most bytes in their processes. Processes are the source's, and
/// more if the target has more ranks. If no relabelling keeps more bytes, each rank keeps its
/// process.
///
/// The result is exact. It solves an assignment problem between kinds of ranks; ranks of a kind
/// hold the same boxes.
///
/// \param processes_per_node a process only plays a rank instead of one on its own node, of
///        this number; 0: any rank
/// \throws error as `make_plan`
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
