// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ANALYSIS_BALANCE_HPP
#define RESHARD_ANALYSIS_BALANCE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/layout/shard_table.hpp>
#include <reshard/plan/network.hpp>

#include <string>

/// \file
/// The load of a plan's busiest process and node, the smallest such load for any choice of
/// replicas, and the least time of any plan.

namespace reshard {

class plan_flows;

/// The busiest processes and node of a plan.
struct plan_balance {
    /// The busiest process or the busiest node.
    ///
    /// \par Units bytes on the wire
    struct extreme {
        holder_t number = 0; ///< the first process or node with that load
        index_t bytes = 0;
        index_t least_bytes = 0; ///< no choice of senders has a smaller load

        bool operator==(extreme const&) const = default;
    };

    extreme sender;   ///< bytes sent, also within a node
    extreme receiver; ///< its `bytes` do not depend on the senders, so they equal `least_bytes`
    extreme link;     ///< bytes that leave a node; zeros if each process is a node

    bool operator==(plan_balance const&) const = default;
};

/// \pre    `flows.options().process_of(h) < processes` for every holder `h`
/// \throws error with errc::overflow if the bytes of one process exceed 64 bits
/// \par Source the bound for any assignment of loads that only some machines can take (restricted
///             machines); here it is computed for the fullest machines
RESHARD_DECL plan_balance balance_of(plan_flows const& flows, holder_t processes);

namespace detail {

/// The least time of any plan, and the resource that takes this time.
struct least_time {
    double seconds = 0;
    std::string of = {}; ///< empty if no byte moves
};

/// The least time in which the links of each rank and node can carry the necessary bytes, for any
/// senders and relays. Elements that several ranks of a node want enter the node once; they enter
/// it more often if passing them on within the node takes longer. Racks are ignored, and each of
/// several overlapping boxes counts.
///
/// \param relayed the flows of a plan with `relays()` for nodes of that network
/// \pre   `flows.options().process_of(h) < processes` for every holder `h`
RESHARD_DECL least_time least_time_of(plan_flows const& relayed, network const& over,
                                      holder_t processes);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/analysis/impl/balance.ipp>
#endif

#endif
