// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_ROUNDS_IPP
#define RESHARD_BIND_IMPL_ROUNDS_IPP

#include <reshard/bind/rounds.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/bind/job_state.hpp>
#include <reshard/bind/overlap.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/planned_job.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/plan/rounds.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace reshard {

namespace detail {

/// The rounds of a job, and a plan for each round.
struct planned_rounds {
    std::shared_ptr<planned_job> all; ///< without a plan
    plan_rounds rounds;
    vector<std::shared_ptr<planned_job const>> plans; ///< by round: the transfers of this rank
};

/// The rank whose rounds are planned, the number of ranks, and their nodes.
struct rounds_scope {
    holder_t me = 0;
    holder_t ranks = 1;
    plan_options nodes = {};
};

/// A layout of the tensors `numbers`, which are ascending.
inline layout some_tensors(layout const& full_layout, vector<std::uint32_t> const& numbers) {
    layout some{full_layout.holders, {}, {}};
    vector<std::optional<std::uint32_t>> places(
        full_layout.spreads.size()); // indices in `some.spreads`
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

/// The shards of all tensors except `keys`.
inline const_state_dict without(const_state_dict const& shards, vector<std::string> keys) {
    sort_by(keys, std::less<>());
    const_state_dict tensors;
    for (auto const& [descriptor, tensor] : shards)
        if (!std::binary_search(keys.begin(), keys.end(), descriptor.key))
            tensors.add(descriptor, tensor);
    return tensors;
}

/// The shards of a layout's tensors.
inline const_state_dict shards_in(const_state_dict const& shards, layout const& some) {
    const_state_dict listed;
    for (auto const& [descriptor, tensor] : shards)
        if (some.find(descriptor.key))
            listed.add(descriptor, tensor);
    return listed;
}

/// The tensors that a round reads, as ascending numbers in the source layout.
inline vector<std::uint32_t> sources_of_round(plan_problem const& problem,
                                              plan_round const& round) {
    vector<std::uint32_t> numbers;
    for (std::uint32_t t = round.first; t < round.last; ++t)
        for (std::size_t i = 0; i < problem.targets[t].pieces->size(); ++i)
            if (key_id const id = problem.targets[t].pieces->source(i); id != zero_source)
                if (source_side const& source = problem.sources[id]; source.shards)
                    numbers.push_back(source.tensor);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
}

/// The tensors of one round, and the transfers of rank `me` for them.
inline std::shared_ptr<planned_job const> plan_of_round(planned_job const& full_job,
                                                        plan_round const& round, holder_t me,
                                                        plan_options const& options) {
    vector<std::uint32_t> wanted;
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

/// Plans the transfers of one rank for each round.
inline planned_rounds plan_in_rounds(std::shared_ptr<planned_job> planned_job,
                                     std::optional<mapping> program, options const& options,
                                     rounds_scope const& scope) {
    fit_program(*planned_job, std::move(program), rules_of(options));
    planned_job->problem =
        problem_of(planned_job->program, planned_job->source, planned_job->target);
    plan_flows const flows(planned_job->problem, scope.nodes);
    planned_rounds result{planned_job, rounds_of(flows, scope.ranks, options.memory.budget), {}};
    for (plan_round const& round : result.rounds.rounds)
        result.plans.push_back(plan_of_round(*planned_job, round, scope.me, scope.nodes));
    return result;
}

/// Runs the rounds of a job, one after the other, with one rank's tensors.
class rounds_job final : public job_state {
public:
    rounds_job(any_group const& ranks, planned_rounds ready, memory_rounds memory, round_call call)
        : job_state(ready.all),
          ranks_(ranks),
          planned_(std::move(ready)),
          memory_(std::move(memory)),
          devices_(std::move(call.devices)),
          have_(std::move(call.have)),
          bind_(std::move(call.bind)) {}

    /// \par Collective every rank of the group, in the same order
    void run() override {
        if (std::exchange(has_run_, true) && memory_.release)
            fail(errc::usage, "this job has released its ", have_.size(),
                 " source tensors; prepare a new one");
        const_state_dict live = have_;
        state_dict filled;
        for (std::size_t i = 0; i < planned_.plans.size(); ++i) {
            fill(*planned_.plans[i], planned_.plans[i], live, filled);
            agree_on(ranks_, [&] { release(planned_.rounds.rounds[i], live); });
        }
    }

    index_t staging_bytes() const override { return staged_; }
    plan_rounds const* rounds() const override { return &planned_.rounds; }

private:
    /// \param live   sources that this or a later round reads, and sources that no round reads
    /// \param filled targets of earlier rounds, which must not change
    void fill(planned_job const& round, std::shared_ptr<planned_job const> const& ready,
              const_state_dict const& live, state_dict& filled) {
        std::unique_ptr<job_state> moving;
        agree_on(ranks_, [&] {
            vector<std::string> keys;
            for (tensor_layout const& tensor : round.target.tensors)
                keys.push_back(tensor.key);
            state_dict const want = memory_.allocate(keys);
            for (auto const& [descriptor, tensor] : want)
                filled.add(descriptor, tensor);
            filled.keep_handles(want);
            want.check(spaces_of(devices_));
            reshard::detail::check_memory({&live, 1}, {&filled, 1}, devices_);
            moving = bind_(ready, shards_in(live, round.source), want);
        });
        moving->run();
        staged_ = std::max(staged_, moving->staging_bytes());
        cost += moving->cost;
    }

    void release(plan_round const& round, const_state_dict& live) {
        vector<std::string> keys;
        for (key_id const id : round.released)
            keys.emplace_back(planned->problem.sources[id].key);
        live = without(live, keys);
        if (memory_.release && !keys.empty())
            memory_.release(keys);
    }

    any_group ranks_;
    planned_rounds planned_;
    memory_rounds memory_;
    device_list devices_;
    const_state_dict have_;
    round_binder bind_;
    index_t staged_ = 0;
    bool has_run_ = false;
};

inline void check_rounds(source_tensors const& have, target_tensors const& want,
                         options const& options) {
    if (!want.layout || !want.tensors.empty())
        fail(errc::usage, "options.memory allocates the targets, but the call gives ",
             counted(want.tensors.size(), "tensor"), "; pass only the layout of the targets");
    if (options.between_nodes.has_relays())
        fail(errc::usage, "rounds do not support relays(); remove it from options.between_nodes, "
                          "or remove options.memory");
    if (have.arena || want.arena)
        fail(errc::usage, "a redistribution in rounds moves ",
             counted(have.tensors.size(), "source"),
             " in messages; omit the arena or options.memory");
    if (options.cache)
        fail(errc::usage, "plans of rounds cannot be cached; omit options.cache or options.memory");
}

inline std::unique_ptr<job_state> prepare_rounds(any_group const& ranks, round_call call,
                                                 options const& options) {
    planned_rounds planned;
    agree_on(ranks, [&] {
        if (call.program)
            refuse_quantised(*call.program, "a redistribution in rounds");
        rounds_scope const scope{static_cast<holder_t>(ranks.rank()),
                                 static_cast<holder_t>(ranks.size()), call.nodes};
        planned = plan_in_rounds(std::move(call.layouts), std::move(call.program), options, scope);
    });
    call.devices = options.devices;
    return std::make_unique<rounds_job>(ranks, std::move(planned), options.memory, std::move(call));
}

} // namespace detail

RESHARD_DECL detail::plan_rounds const& job::rounds() const {
    static detail::plan_rounds const none;
    detail::plan_rounds const* const some = state().rounds();
    return some ? *some : none;
}

RESHARD_DECL detail::memory_rounds
rounds(index_t budget, std::function<state_dict(vector<std::string> const& keys)> allocate,
       std::function<void(vector<std::string> const& keys)> release) {
    static constexpr detail::round_steps steps{detail::check_rounds, detail::prepare_rounds};
    if (!allocate)
        fail(errc::usage, "rounds within ", budget,
             " bytes need a function that allocates the targets of a round; pass one");
    return {budget, std::move(allocate), std::move(release), &steps};
}

} // namespace reshard

#endif
