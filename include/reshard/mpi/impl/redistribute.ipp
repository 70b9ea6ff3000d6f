// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_REDISTRIBUTE_IPP
#define RESHARD_MPI_IMPL_REDISTRIBUTE_IPP

#include <reshard/mpi/redistribute.hpp>

#include <reshard/bind/equal_tensors.hpp>
#include <reshard/bind/job_state.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/mpi/bind_job.hpp>
#include <reshard/mpi/plan_sides.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace reshard {

namespace detail {

/// A job in rounds, which knows both layouts whole.
///
/// \par Collective every rank of the group, in the same order
inline job prepare_rounds(mpi_group const& ranks, source_tensors have, two_sides sides,
                          std::optional<mapping> program, options const& how) {
    planned_rounds planned = plan_rounds_of(ranks, std::move(sides), std::move(program), how);
    auto const bind = [ranks](std::shared_ptr<planned_job const> round,
                              const_state_dict const& some, state_dict const& filled) {
        return bind_messages(ranks, std::move(round), some, filled);
    };
    return job(std::make_unique<rounds_job<mpi_group>>(ranks, std::move(planned),
                                                       std::move(have.tensors), how, bind));
}

/// Prepares a job; where it is to run at once, tensors that the program calls copies are compared.
///
/// \par Collective every rank of the group, in the same order
inline job prepare_call(mpi_group const& caller, source_tensors have, target_tensors want,
                        options const& how, bool runs_at_once) {
    mpi_group const world = caller.with_deadline(how.deadline);
    local_error problem = check_call(world, have, want, how);
    if (!problem && runs_at_once)
        problem = attempt([&] { check_twins(have.tensors); });
    agree_to_run(world, "redistribute", alike_in_call(how, have, want), problem);
    mpi_group const ranks = mpi_group::duplicate_of(world); // apart from the caller's messages
    two_sides sides;
    agree_on(ranks, [&] { sides = sides_of(have, want); });
    auto program = mapping_of_call(ranks, how.program, sides);
    if (runs_at_once && program)
        check_copies(ranks, have.tensors, *program);
    if (how.allocate)
        return prepare_rounds(ranks, std::move(have), std::move(sides), std::move(program), how);
    known_plan const plan = plan_of_call(ranks, sides, std::move(program), how);
    auto state = bind_job(ranks, plan, have, want, how);
    state->keep_handles(have.tensors, want.tensors);
    return job(std::move(state));
}

RESHARD_DECL job prepare_made(mpi_group const& world, plan_maker const& plan, source_tensors have,
                              target_tensors want) {
    options const how;
    made_plan made;
    local_error problem = check_call(world, have, want, how);
    keep_first(problem, attempt([&] {
                   made = plan.make(
                       have, want,
                       {static_cast<holder_t>(world.rank()), static_cast<holder_t>(world.size())});
               }));
    compared_values alike = alike_in_call(how, have, want);
    alike.add_digest("typed plan", made.digest);
    agree_to_run(world, "redistribute with a typed plan", alike, problem);
    mpi_group const ranks = mpi_group::duplicate_of(world); // apart from the caller's messages
    auto state = bind_job(ranks, {std::move(made.planned), false}, have, want, how);
    state->keep_handles(have.tensors, want.tensors);
    return job(std::move(state));
}

} // namespace detail

RESHARD_DECL job prepare(mpi_group const& world, source_tensors have, target_tensors want,
                         options const& how) {
    return detail::prepare_call(world, std::move(have), std::move(want), how, false);
}

RESHARD_DECL void redistribute(mpi_group const& world, source_tensors have, target_tensors want,
                               options const& how) {
    job ready = detail::prepare_call(world, std::move(have), std::move(want), how, true);
    run(ready);
}

} // namespace reshard

#endif
