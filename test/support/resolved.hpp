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
    cast_chain chain;

    bool operator==(resolved_transfer const&) const = default;
};

template <class Wanted>
std::vector<resolved_transfer> resolved(plan const& whole, Wanted&& wanted) {
    std::vector<resolved_transfer> all;
    for (transfer const& one : whole.transfers)
        if (wanted(one)) {
            all.push_back({one, cut_of(whole, one), whole.chains[one.chain]});
            all.back().numbers.cut = 0;
            all.back().numbers.chain = 0;
        }
    return all;
}

inline std::vector<resolved_transfer> resolved(plan const& whole) {
    return resolved(whole, [](transfer const&) { return true; });
}

} // namespace reshard::test

#endif
