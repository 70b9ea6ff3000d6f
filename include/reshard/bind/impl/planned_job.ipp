// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_PLANNED_JOB_IPP
#define RESHARD_BIND_IMPL_PLANNED_JOB_IPP

#include <reshard/bind/planned_job.hpp>

#include <reshard/bind/check_complete.hpp>
#include <reshard/bind/overlap.hpp>
#include <reshard/bind/strict_keys.hpp>
#include <reshard/expr/digest.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include <string>
#include <tuple>
#include <utility>

namespace reshard::detail {

RESHARD_DECL void plan_between(planned_job& all, std::optional<mapping> program,
                               plan_scope const& mine, options const& how,
                               plan_options const& nodes) {
    std::tie(all.program, all.verdict) =
        fitted_program(std::move(program), catalog_of(all.source), all.target, how);
    all.problem = problem_of(all.program, all.source, all.target);
    all.whole = make_plan(all.problem, mine, nodes);
}

RESHARD_DECL std::uint64_t digest_of_call(options const& how) {
    hasher digest;
    digest.add(digest_of(how));
    add_value(digest, how.strict);
    digest.add(std::uint64_t{how.cache != nullptr});
    digest.add(std::uint64_t{how.allocate != nullptr});
    mapping const* const known = how.program.known();
    digest.add(known ? digest_of(*known) : std::uint64_t{how.program.is_by_name()});
    return digest.value();
}

RESHARD_DECL void check_call(source_tensors const& have, target_tensors const& want,
                             options const& how) {
    reshard::detail::check_memory({&have.tensors, 1}, {&want.tensors, 1});
    if (!how.allocate && (how.memory_budget != any_budget || how.release))
        fail(errc::usage, "a redistribution with a memory budget or `release` fills its targets in "
                          "rounds; set options.allocate, too");
    if (!how.allocate)
        return;
    if (!want.layout || !want.tensors.empty())
        fail(errc::usage, "options.allocate makes the targets, but " +
                              std::to_string(want.tensors.size()) +
                              " are given; give the layout of the targets alone");
    if (have.arena || want.arena)
        fail(errc::usage, "a redistribution in rounds moves " +
                              std::to_string(have.tensors.size()) +
                              " sources in messages; leave the arena out, or options.allocate");
    if (how.cache)
        fail(errc::usage, "the plans of rounds are not kept; leave options.cache out, or "
                          "options.allocate");
}

RESHARD_DECL bound_job::bound_job(std::shared_ptr<planned_job const> ready, holder_t me,
                                  const_state_dict const& have, state_dict const& want)
    : job_state(std::move(ready)) {
    sources.add(have, planned->source, me);
    check_complete(sources, planned->source, me);
    targets.add(want, planned->target, me);
    check_complete(targets, planned->target, me);
}

} // namespace reshard::detail

#endif
