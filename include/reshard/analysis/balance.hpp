// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ANALYSIS_BALANCE_HPP
#define RESHARD_ANALYSIS_BALANCE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/layout/shard_table.hpp>

/// \file
/// The load of a plan's busiest process and node, and the least load of any choice of replicas.

namespace reshard {

class plan_flows;

/// The busiest processes and node of a plan.
struct plan_balance {
    /// The busiest of its processes, or of its nodes.
    ///
    /// \par Units bytes on the wire
    struct extreme {
        holder_t number = 0; ///< the first of the busiest
        index_t bytes = 0;
        index_t least_bytes = 0; ///< some process or node has as much with any choice of senders

        bool operator==(extreme const&) const = default;
    };

    extreme sender;   ///< within a node, too
    extreme receiver; ///< its bytes do not depend on the senders: they are `least_bytes`
    extreme link;     ///< bytes leaving a node; zeros if each process is a node

    bool operator==(plan_balance const&) const = default;
};

/// \pre    `flows.options().process_of(h) < processes` for every holder `h`
/// \throws error with errc::overflow when the bytes of one process do not fit 64 bits
/// \par Source what some loads that only some machines can take come to for each of these bounds
///             every assignment (restricted machines); here it is worked out for the fullest ones
RESHARD_DECL plan_balance balance_of(plan_flows const& flows, holder_t processes);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/analysis/impl/balance.ipp>
#endif

#endif
