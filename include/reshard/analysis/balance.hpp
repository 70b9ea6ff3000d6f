// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ANALYSIS_BALANCE_HPP
#define RESHARD_ANALYSIS_BALANCE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/layout/shard_table.hpp>

/// \file
/// What the busiest process and node of a plan carry, beside what no choice of replicas could spare
/// them.

namespace reshard {

class plan_flows;

/// The busiest of a plan's processes, or of its nodes.
///
/// \par Units bytes on the wire
struct plan_extreme {
    holder_t number = 0; ///< the first of the busiest
    index_t bytes = 0;
    index_t least_bytes = 0; ///< with any choice of senders, some process or node carries that much

    bool operator==(plan_extreme const&) const = default;
};

/// The busiest of a plan.
struct plan_balance {
    plan_extreme sender;   ///< within a node, too
    plan_extreme receiver; ///< what it is given does not depend on who gives: `least_bytes` is that
    plan_extreme link;     ///< what leaves a node; all zeros where each process is on its own

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
