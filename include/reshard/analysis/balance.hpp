// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ANALYSIS_BALANCE_HPP
#define RESHARD_ANALYSIS_BALANCE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/layout/shard_table.hpp>
#include <reshard/plan/network.hpp>

#include <string>

/// \file
/// The load of a plan's busiest process and node, and the least load of any choice of replicas.
/// Also the least time of any plan.

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

namespace detail {

/// The least time of any plan, and the resource that it is for.
struct least_time {
    double seconds = 0;
    std::string of = {}; ///< empty if nothing moves
};

/// The least time in which the links of each rank and node can carry what they must, whoever sends
/// and whoever passes on. What several ranks of a node want enters it once, or more often if they
/// hand it on more slowly. Racks are not considered, and boxes that overlap count each.
///
/// \param relayed the flows of a plan with `relays()` for nodes of that network
/// \pre   as `balance_of`
RESHARD_DECL least_time least_time_of(plan_flows const& relayed, network const& over,
                                      holder_t processes);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/analysis/impl/balance.ipp>
#endif

#endif
