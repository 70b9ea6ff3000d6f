// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_REDISTRIBUTE_IPP
#define RESHARD_MPI_IMPL_REDISTRIBUTE_IPP

#include <reshard/core/vector.hpp>
#include <reshard/mpi/redistribute.hpp>

#include <reshard/bind/job_state.hpp>
#include <reshard/bind/overlap.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/mpi/impl/bind_job.ipp>
#include <reshard/mpi/node_rings.hpp>
#include <reshard/mpi/plan_sides.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace reshard {

namespace detail {

/// A job in rounds. Every rank knows both layouts completely.
///
/// \par Collective every rank of the group, in the same order
inline std::unique_ptr<job_state> prepare_rounds(mpi_group const& ranks, source_tensors have,
                                                 call_facts facts, options const& options,
                                                 std::optional<mapping> program) {
    auto const bind = [ranks, devices = options.devices](std::shared_ptr<planned_job const> round,
                                                         const_state_dict const& some,
                                                         state_dict const& filled) {
        return bind_messages(ranks, std::move(round), some, filled, devices);
    };
    plan_options const nodes = nodes_of(options, facts.nodes);
    return options.memory.steps->prepare(any_group(ranks),
                                         {layouts_of_rounds(std::move(facts), options),
                                          std::move(program), nodes, std::move(have.tensors), bind},
                                         options);
}

/// This rank's side of a call, and its first message to all others.
struct entered_call {
    two_sides own;
    call_opening opening;
};

/// The opening of any redistribution, without an attachment. Does not communicate.
inline call_opening opening_of(mpi_group const& world, source_tensors const& have,
                               target_tensors const& want, options const& options) {
    call_opening opening;
    opening.operation = "redistribute";
    opening.fingerprint = call_fingerprint(options, have, want);
    opening.problem = check_call(world, have, want, options);
    keep_first(opening.problem, attempt([&] {
                   opening.fingerprint.add("RESHARD_RANKS_PER_NODE", ranks_per_node(0));
               }));
    return opening;
}

/// Describes the tensors of this rank to the others. Moves the layouts out of `have` and `want`.
/// Does not communicate.
inline entered_call enter_call(mpi_group const& world, source_tensors& have, target_tensors& want,
                               options const& options, bool runs_at_once) {
    entered_call call{{}, opening_of(world, have, want, options)};
    if (!call.opening.problem)
        call.opening.problem = attempt([&] {
            if (runs_at_once)
                check_twins(have.tensors, options.devices);
            call.own = sides_of(have, want);
            call.opening.attachment = content_bytes(notice_of(world, call.own, options));
        });
    return call;
}

/// Prepares a job. If `runs_at_once`, compares the tensors that the program declares to be copies.
///
/// \par Collective every rank of the group, in the same order
inline std::unique_ptr<job_state> prepare_call(mpi_group const& caller, source_tensors have,
                                               target_tensors want, options const& options,
                                               bool runs_at_once) {
    mpi_group const world = caller.with_deadline(options.deadline);
    entered_call call = enter_call(world, have, want, options, runs_at_once);
    auto notices = values_of_ranks<call_notice>(open_call(world, call.opening));
    mpi_group const ranks = world.with_own_messages(rank_notices_of(notices));
    call_facts facts = facts_of_call(ranks, std::move(call.own), std::move(notices));
    std::optional<mapping> program;
    if (program_steps const* const steps = options.program.steps()) {
        side_facts const wanted = facts_of_side(facts, false);
        program = steps->make_mapping(any_group(ranks), options.program, facts_of_side(facts, true),
                                      &wanted);
        if (runs_at_once)
            steps->compare_copies(any_group(ranks), have.tensors, *program, options.devices,
                                  [&](const_state_dict const& from, state_dict const& to) {
                                      redistribute(ranks, from, to);
                                  });
        if (!program->quantised().empty())
            return steps->quantise(
                any_group(ranks), std::move(*program), std::move(have), std::move(want), options,
                [&](source_tensors from, target_tensors to, auto const& rest) {
                    return prepare_call(ranks, std::move(from), std::move(to), rest, runs_at_once);
                });
    }
    bool const is_dequantized = program && dequantizes(*program);
    if (options.memory)
        return prepare_rounds(ranks, std::move(have), std::move(facts), options,
                              std::move(program));
    vector<int> const nodes = facts.nodes;
    known_plan const plan = plan_of_call(ranks, std::move(facts), std::move(program), options);
    std::shared_ptr<shard_scales> scales;
    if (is_dequantized)
        scales = options.program.steps()->scales(
            any_group(ranks), plan.planned.get(), plan.problem, have.tensors,
            [&](const_state_dict const& from, state_dict const& to) {
                return prepare(ranks, from, to, {.devices = options.devices});
            });
    auto state = bind_job({ranks, nodes}, plan, std::move(scales), have, want, options);
    state->keep_handles(have.tensors, want.tensors);
    return state;
}

RESHARD_DECL job prepare_made(mpi_group const& world, plan_maker const& plan, source_tensors have,
                              target_tensors want, device_list const& devices) {
    options const options{.devices = devices};
    call_opening opening = opening_of(world, have, want, options);
    made_plan made_plan;
    keep_first(opening.problem, attempt([&] {
                   made_plan = plan.make(
                       have, want,
                       {static_cast<holder_t>(world.rank()), static_cast<holder_t>(world.size())});
               }));
    opening.operation += " with a typed plan";
    opening.fingerprint.add_digest("typed plan", made_plan.digest);
    opening.attachment = content_bytes(world.notice());
    auto const notices = values_of_ranks<rank_notice>(open_call(world, opening));
    auto state = bind_job({world.with_own_messages(notices), nodes_of(notices)},
                          {std::move(made_plan.planned), false, {}}, nullptr, have, want, options);
    state->keep_handles(have.tensors, want.tensors);
    return job(std::move(state));
}

} // namespace detail

RESHARD_DECL job prepare(mpi_group const& world, source_tensors have, target_tensors want,
                         options const& options) {
    return job(detail::prepare_call(world, std::move(have), std::move(want), options, false));
}

RESHARD_DECL void redistribute(mpi_group const& world, source_tensors have, target_tensors want,
                               options const& options) {
    detail::prepare_call(world, std::move(have), std::move(want), options, true)->run();
}

} // namespace reshard

#endif
