// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_PLANNED_JOB_IPP
#define RESHARD_PLAN_IMPL_PLANNED_JOB_IPP

#include <reshard/plan/planned_job.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include <tuple>
#include <utility>

namespace reshard::detail {

RESHARD_DECL void fit_program(planned_job& planned_job, std::optional<mapping> program,
                              fit_rules const& rules) {
    std::tie(planned_job.program, planned_job.verdict) = fitted_program(
        std::move(program), uncut_tensors(planned_job.source), planned_job.target, rules);
    if (rules.check)
        rules.check(planned_job.program, planned_job.target);
}

RESHARD_DECL void plan_transfers(planned_job& planned_job, plan_scope const& scope,
                                 plan_options const& nodes) {
    planned_job.problem = problem_of(planned_job.program, planned_job.source, planned_job.target);
    planned_job.whole = make_plan(planned_job.problem, scope, nodes);
}

RESHARD_DECL std::uint64_t structure_digest(mapping const& program, layout const& source,
                                            layout const& target, plan_options const& options) {
    return digest_of_all(planner_version, digest_of(program), digest_of(source), digest_of(target),
                         options);
}

RESHARD_DECL std::uint64_t plan_digest(std::uint64_t structure, plan_scope const& scope) {
    return digest_of_all(structure, scope);
}

} // namespace reshard::detail

#endif
