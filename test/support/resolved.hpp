// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_RESOLVED_HPP
#define RESHARD_TEST_SUPPORT_RESOLVED_HPP

#include <reshard/plan/plan.hpp>

#include <vector>

/// \file
/// Plans that number their patterns differently, made comparable.

namespace reshard::test {

using namespace reshard::detail;

/// A transfer with everything that it refers to written out.
struct resolved_transfer {
    transfer numbers; ///< without its places in the plan
    cut geometry;
    step_chain chain;

    bool operator==(resolved_transfer const&) const = default;
};

template <class Wanted>
std::vector<resolved_transfer> resolved(plan const& plan, Wanted&& wanted) {
    std::vector<resolved_transfer> transfers;
    for (transfer const& transfer : plan.transfers)
        if (wanted(transfer)) {
            transfers.push_back({transfer, cut_of(plan, transfer), plan.chains[transfer.chain]});
            transfers.back().numbers.cut = 0;
            transfers.back().numbers.chain = 0;
        }
    return transfers;
}

inline std::vector<resolved_transfer> resolved(plan const& plan) {
    return resolved(plan, [](transfer const&) { return true; });
}

} // namespace reshard::test

#endif
