// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_JOB_STATE_IPP
#define RESHARD_BIND_IMPL_JOB_STATE_IPP

#include <reshard/bind/job_state.hpp>

#include <reshard/bind/overlap.hpp>
#include <reshard/bind/shard_views.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include <optional>
#include <string>
#include <utility>

namespace reshard::detail {

RESHARD_DECL compared_values call_fingerprint(options const& options) {
    mapping const* const mapping = options.program.known();
    compared_values fingerprint;
    fingerprint.add_digest("options.program", mapping ? options.program.steps()->digest(*mapping)
                                                      : options.program.is_by_name());
    fingerprint.add("options", options);
    fingerprint.add("options.strict", options.strict);
    fingerprint.add_presence("options.cache", options.cache != nullptr);
    fingerprint.add_presence("options.allocate", static_cast<bool>(options.allocate));
    return fingerprint;
}

RESHARD_DECL void check_call(source_tensors const& have, target_tensors const& want,
                             options const& options) {
    reshard::detail::check_memory({&have.tensors, 1}, {&want.tensors, 1});
    if (!options.needs.empty())
        fail(errc::usage, "options.needs has ", options.needs.size(),
             " entries, and a redistribution looks at none; give them to a load or a save");
    if (!options.allocate && (options.memory_budget != any_budget || options.release))
        fail(errc::usage, "a redistribution with a memory budget or `release` fills its targets in "
                          "rounds; set options.allocate, too");
    if (!options.allocate)
        return;
    if (!want.layout || !want.tensors.empty())
        fail(errc::usage, "options.allocate makes the targets, but ", want.tensors.size(),
             " are given; give the layout of the targets alone");
    if (options.relays)
        fail(errc::usage,
             "a redistribution in rounds passes nothing on; leave options.relays out, or "
             "options.allocate");
    if (have.arena || want.arena)
        fail(errc::usage, "a redistribution in rounds moves ",
             counted(have.tensors.size(), "source"),
             " in messages; leave the arena out, or options.allocate");
    if (options.cache)
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

/// Some tensors of a layout; `numbers` ascending.
inline layout some_tensors(layout const& full_layout, std::vector<std::uint32_t> const& numbers) {
    layout some{full_layout.holders, {}, {}};
    std::vector<std::optional<std::uint32_t>> places(
        full_layout.spreads.size()); // among the elements of `some`
    for (std::uint32_t const number : numbers) {
        tensor_layout const& tensor = full_layout.tensors[number];
        auto& position = places[tensor.spread];
        if (!position) {
            position = static_cast<std::uint32_t>(some.spreads.size());
            some.spreads.push_back(full_layout.spread_of(tensor));
        }
        some.tensors.push_back({tensor.key, tensor.dtype, *position});
    }
    return some;
}

RESHARD_DECL const_state_dict without(const_state_dict const& shards,
                                      std::vector<std::string> keys) {
    sort_by(keys, std::less<>());
    const_state_dict tensors;
    for (auto const& [descriptor, tensor] : shards)
        if (!std::binary_search(keys.begin(), keys.end(), descriptor.key))
            tensors.add(descriptor, tensor);
    return tensors;
}

RESHARD_DECL const_state_dict shards_in(const_state_dict const& shards, layout const& some) {
    const_state_dict listed;
    for (auto const& [descriptor, tensor] : shards)
        if (some.find(descriptor.key))
            listed.add(descriptor, tensor);
    return listed;
}

/// The numbers, in the source's layout, of the tensors that a round reads; ascending.
inline std::vector<std::uint32_t> sources_of_round(plan_problem const& problem,
                                                   plan_round const& round) {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t t = round.first; t < round.last; ++t)
        for (std::size_t i = 0; i < problem.targets[t].pieces->size(); ++i)
            if (key_id const id = problem.targets[t].pieces->source(i); id != zero_source)
                if (source_side const& source = problem.sources[id]; source.shards)
                    numbers.push_back(source.tensor);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
}

/// The tensors of one round, and what rank `me` moves of them.
inline std::shared_ptr<planned_job const> plan_of_round(planned_job const& full_job,
                                                        plan_round const& round, holder_t me,
                                                        plan_options const& options) {
    std::vector<std::uint32_t> wanted;
    for (std::uint32_t t = round.first; t < round.last; ++t)
        wanted.push_back(t);
    auto planned = std::make_shared<planned_job>();
    planned->source = some_tensors(full_job.source, sources_of_round(full_job.problem, round));
    planned->target = some_tensors(full_job.target, wanted);
    planned->program = full_job.program;
    planned->conversions = full_job.conversions;
    planned->problem = problem_of(planned->program, planned->source, planned->target);
    holder_set const set({me});
    planned->whole = make_plan(planned->problem, {set, set}, options);
    return planned;
}

RESHARD_DECL planned_rounds plan_in_rounds(std::shared_ptr<planned_job> planned_job,
                                           std::optional<mapping> program, options const& options,
                                           rounds_scope const& scope) {
    fit_program(*planned_job, std::move(program), {options.strict, options.shape_mismatch});
    planned_job->problem =
        problem_of(planned_job->program, planned_job->source, planned_job->target);
    plan_flows const flows(planned_job->problem, scope.nodes);
    planned_rounds result{planned_job, rounds_of(flows, scope.ranks, options.memory_budget), {}};
    for (plan_round const& round : result.rounds.rounds)
        result.plans.push_back(plan_of_round(*planned_job, round, scope.me, scope.nodes));
    return result;
}

} // namespace reshard::detail

#endif
