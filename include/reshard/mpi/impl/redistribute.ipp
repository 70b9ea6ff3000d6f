// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_REDISTRIBUTE_IPP
#define RESHARD_MPI_IMPL_REDISTRIBUTE_IPP

#include <reshard/mpi/redistribute.hpp>

#include <reshard/bind/job_state.hpp>
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

} // namespace detail

RESHARD_DECL job prepare(mpi_group const& caller, source_tensors have, target_tensors want,
                         options const& how) {
    mpi_group const world = caller.with_deadline(how.deadline);
    detail::agree_to_run(world, "redistribute", detail::digest_of_call(how, have, want),
                         detail::check_call(world, have, want, how));
    mpi_group const ranks = mpi_group::duplicate_of(world); // apart from the caller's messages
    detail::two_sides sides;
    agree_on(ranks, [&] { sides = detail::sides_of(have, want); });
    auto program = detail::mapping_of_call(ranks, how.program, sides);
    if (how.allocate)
        return detail::prepare_rounds(ranks, std::move(have), std::move(sides), std::move(program),
                                      how);
    detail::known_plan const plan = detail::plan_of_call(ranks, sides, std::move(program), how);
    auto state = detail::bind_job(ranks, plan, have, want, how.on_node);
    state->keep_handles(have.tensors, want.tensors);
    return job(std::move(state));
}

RESHARD_DECL void redistribute(mpi_group const& world, source_tensors have, target_tensors want,
                               options const& how) {
    job ready = prepare(world, std::move(have), std::move(want), how);
    run(ready);
}

} // namespace reshard

#endif
