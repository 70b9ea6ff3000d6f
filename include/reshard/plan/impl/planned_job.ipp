// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_PLANNED_JOB_IPP
#define RESHARD_PLAN_IMPL_PLANNED_JOB_IPP

#include <reshard/plan/planned_job.hpp>

#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include <tuple>
#include <utility>

namespace reshard::detail {

RESHARD_DECL void fit_program(planned_job& all, std::optional<mapping> program,
                              fit_rules const& how) {
    std::tie(all.program, all.verdict) =
        fitted_program(std::move(program), catalog_of(all.source), all.target, how);
    check_scales(all.program, all.target);
}

RESHARD_DECL void plan_transfers(planned_job& all, plan_scope const& mine,
                                 plan_options const& nodes) {
    all.problem = problem_of(all.program, all.source, all.target);
    all.whole = make_plan(all.problem, mine, nodes);
}

} // namespace reshard::detail

#endif
