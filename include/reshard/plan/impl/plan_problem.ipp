// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_PLAN_PROBLEM_IPP
#define RESHARD_PLAN_IMPL_PLAN_PROBLEM_IPP

#include <reshard/plan/plan_problem.hpp>

namespace reshard::detail {

RESHARD_DECL std::string wanted_by(plan_problem const& problem, holder_t holder) {
    return problem.source_names ? std::string()
                                : ", which rank " + std::to_string(holder) + " wants,";
}

RESHARD_DECL std::string source_name(plan_problem const& problem, holder_t holder) {
    return problem.source_names ? (*problem.source_names)[holder]
                                : "rank " + std::to_string(holder);
}

} // namespace reshard::detail

#endif
