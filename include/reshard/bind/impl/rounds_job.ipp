// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_ROUNDS_JOB_IPP
#define RESHARD_BIND_IMPL_ROUNDS_JOB_IPP

#include <reshard/bind/rounds_job.hpp>

#include <reshard/bind/strict_keys.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include <tuple>

namespace reshard::detail {

RESHARD_DECL compact_layout some_tensors(compact_layout const& all,
                                         std::vector<std::uint32_t> const& numbers) {
    compact_layout some{all.holders, {}, {}};
    std::vector<std::pair<std::uint32_t, std::uint32_t>> known; // spread of all, spread of some
    for (std::uint32_t const number : numbers) {
        compact_tensor const& tensor = all.tensors[number];
        auto const place = std::find_if(known.begin(), known.end(), [&](auto const& spread) {
            return spread.first == tensor.spread;
        });
        auto const next = static_cast<std::uint32_t>(some.spreads.size());
        some.tensors.push_back(
            {tensor.key, tensor.dtype, place == known.end() ? next : place->second});
        if (place == known.end()) {
            known.push_back({tensor.spread, next});
            some.spreads.push_back(all.spread_of(tensor));
        }
    }
    return some;
}

RESHARD_DECL const_state_dict without(const_state_dict const& shards,
                                      std::vector<std::string> keys) {
    std::sort(keys.begin(), keys.end());
    const_state_dict rest;
    for (auto const& [descriptor, tensor] : shards)
        if (!std::binary_search(keys.begin(), keys.end(), descriptor.key))
            rest.add(descriptor, tensor);
    return rest;
}

RESHARD_DECL const_state_dict shards_in(const_state_dict const& shards,
                                        compact_layout const& some) {
    const_state_dict listed;
    for (auto const& [descriptor, tensor] : shards)
        if (find_tensor(some.tensors, descriptor.key) != some.tensors.end())
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
inline std::shared_ptr<planned_job const> plan_of_round(planned_job const& all,
                                                        plan_round const& round, holder_t me,
                                                        plan_options const& how) {
    std::vector<std::uint32_t> wanted;
    for (std::uint32_t t = round.first; t < round.last; ++t)
        wanted.push_back(t);
    auto planned = std::make_shared<planned_job>();
    planned->source = some_tensors(all.source, sources_of_round(all.problem, round));
    planned->target = some_tensors(all.target, wanted);
    planned->program = all.program;
    planned->problem = problem_of(planned->program, planned->source, planned->target);
    holder_set const mine({me});
    planned->whole = make_plan(planned->problem, {mine, mine}, how);
    return planned;
}

RESHARD_DECL planned_rounds plan_in_rounds(std::shared_ptr<planned_job> all,
                                           std::optional<mapping> program, options const& how,
                                           rounds_scope const& scope) {
    std::tie(all->program, all->verdict) =
        fitted_program(std::move(program), catalog_of(all->source), all->target, how);
    all->problem = problem_of(all->program, all->source, all->target);
    plan_flows const flows(all->problem, scope.nodes);
    planned_rounds result{all, rounds_of(flows, scope.ranks, how.memory_budget), {}};
    for (plan_round const& round : result.rounds.rounds)
        result.plans.push_back(plan_of_round(*all, round, scope.me, scope.nodes));
    return result;
}

} // namespace reshard::detail

#endif
