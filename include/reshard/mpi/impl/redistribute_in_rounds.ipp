// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_REDISTRIBUTE_IN_ROUNDS_IPP
#define RESHARD_MPI_IMPL_REDISTRIBUTE_IN_ROUNDS_IPP

#include <reshard/mpi/redistribute_in_rounds.hpp>

#include <reshard/bind/overlap.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/expr/fit_shapes.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace reshard {

namespace detail {

/// Both layouts and the program of all rounds, and those rounds.
struct rounds_job {
    compact_layout source;
    compact_layout target;
    mapping program;
    plan_problem problem;
    plan_rounds planned;
};

RESHARD_DECL compact_layout part_of(compact_layout const& all,
                                    std::vector<std::uint32_t> const& numbers) {
    compact_layout sublayout{all.holders, {}, {}};
    std::vector<std::pair<std::uint32_t, std::uint32_t>> known; // spread of all, spread of the part
    for (std::uint32_t const number : numbers) {
        compact_tensor const& tensor = all.tensors[number];
        auto const place = std::find_if(known.begin(), known.end(), [&](auto const& one) {
            return one.first == tensor.spread;
        });
        auto const next = static_cast<std::uint32_t>(sublayout.spreads.size());
        sublayout.tensors.push_back(
            {tensor.key, tensor.dtype, place == known.end() ? next : place->second});
        if (place == known.end()) {
            known.push_back({tensor.spread, next});
            sublayout.spreads.push_back(all.spread_of(tensor));
        }
    }
    return sublayout;
}

RESHARD_DECL std::vector<std::string> keys_of(compact_layout const& all) {
    std::vector<std::string> keys;
    for (compact_tensor const& one : all.tensors)
        keys.push_back(one.key);
    return keys;
}

/// The numbers, in the source's layout, of the tensors that a round reads; ascending.
inline std::vector<std::uint32_t> sources_of_round(rounds_job const& job, plan_round const& round) {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t t = round.first; t < round.last; ++t)
        for (std::size_t i = 0; i < job.problem.targets[t].pieces->size(); ++i)
            if (key_id const id = job.problem.targets[t].pieces->source(i); id != zero_source)
                if (source_side const& held = job.problem.sources[id]; held.shards)
                    numbers.push_back(held.tensor);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
}

/// Shards of the tensors of a layout.
inline const_state_dict shards_of_keys(const_state_dict const& held,
                                       compact_layout const& sublayout) {
    const_state_dict some;
    for (auto const& [descriptor, tensor] : held)
        if (find_tensor(sublayout.tensors, descriptor.key) != sublayout.tensors.end())
            some.add(descriptor, tensor);
    return some;
}

RESHARD_DECL const_state_dict without(const_state_dict const& held, std::vector<std::string> keys) {
    std::sort(keys.begin(), keys.end());
    const_state_dict rest;
    for (auto const& [descriptor, tensor] : held)
        if (!std::binary_search(keys.begin(), keys.end(), descriptor.key))
            rest.add(descriptor, tensor);
    return rest;
}

/// Makes the rounds of a job, one after the other, with one rank's tensors.
class rounds_runner {
public:
    rounds_runner(mpi_group const& ranks, rounds_job const& job, const_state_dict held,
                  round_memory const& memory)
        : ranks_(ranks), job_(job), memory_(memory), live_(std::move(held)) {}

    /// Plans, binds and runs one round, and gives up what it was the last to read; the bytes that
    /// it staged.
    ///
    /// \par Collective every rank of the group, in the same order
    index_t run(plan_round const& round, plan_options const& options) {
        index_t staged = 0;
        {
            prepared_state state;
            agree_on(ranks_, [&] { prepare(state, round, options); });
            state.moving->run();
            staged = state.moving->staging_bytes();
        }
        agree_on(ranks_, [&] { release(round); });
        return staged;
    }

private:
    void prepare(prepared_state& state, plan_round const& round, plan_options const& options) {
        std::vector<std::uint32_t> wanted;
        for (std::uint32_t t = round.first; t < round.last; ++t)
            wanted.push_back(t);
        looked_up& planned = state.planned;
        planned.source = part_of(job_.source, sources_of_round(job_, round));
        planned.target = part_of(job_.target, wanted);
        planned.program = job_.program;
        holder_set const me({static_cast<holder_t>(ranks_.rank())});
        planned.whole = make_plan(problem_of(planned.program, planned.source, planned.target),
                                  {me, me}, options);
        state_dict const target = memory_.allocate(keys_of(planned.target));
        // What earlier rounds have filled and later ones read must stay what it is, too.
        for (auto const& [descriptor, tensor] : target)
            filled_.add(descriptor, tensor);
        reshard::check_memory({&live_, 1}, {&filled_, 1});
        bind(state, ranks_, shards_of_keys(live_, planned.source), target);
    }

    void release(plan_round const& round) {
        std::vector<std::string> keys;
        for (key_id const id : round.released)
            keys.emplace_back(job_.problem.sources[id].key);
        live_ = without(live_, keys);
        if (memory_.release && !keys.empty())
            memory_.release(keys);
    }

    mpi_group const& ranks_;
    rounds_job const& job_;
    round_memory const& memory_;
    const_state_dict
        live_; ///< sources that this round or a later one reads, and those that none does
    state_dict filled_;
};

/// The layout of one side: what some rank knows, or what all ranks say that they hold.
///
/// \par Collective every rank of the group, in the same order
template <class View>
compact_layout layout_of_side(mpi_group const& ranks, laid_out<View>& side, std::string_view what) {
    known_side known = known_by_some(ranks, side, what);
    gather_unknown(ranks, known);
    return std::move(*known.layout);
}

/// Makes the rounds, alike on every rank. Does not communicate.
inline void plan_rounds_of(rounds_job& job, int size, redistribution how, index_t budget) {
    job.program =
        how.program ? std::move(*how.program) : by_name(catalog_of(job.source), job.target);
    job.program = fit_shapes(std::move(job.program), job.target, how.options.allow_shape_mismatch);
    job.problem = problem_of(job.program, job.source, job.target);
    plan_flows const flows(job.problem, plan_options_of(how.options));
    job.planned = rounds_of(flows, static_cast<holder_t>(size), budget);
}

} // namespace detail

RESHARD_DECL rounds_report redistribute_in_rounds(mpi_group const& world,
                                                  laid_out<const_tensor_view> source,
                                                  compact_layout target, round_memory const& memory,
                                                  redistribution how) {
    hasher call;
    call.add(detail::digest_of_call(how.program, how.options));
    call.add(static_cast<std::uint64_t>(memory.budget));
    agree_to_run(world, "redistribute in rounds", call.value(), attempt([&] {
                     if (!memory.allocate)
                         fail(errc::usage, "redistribute_in_rounds has nothing that allocates "
                                           "targets; set round_memory::allocate");
                     if (source.arena)
                         fail(errc::usage, "redistribute_in_rounds moves " +
                                               std::to_string(source.held.size()) +
                                               " sources of an arena in messages; leave the arena "
                                               "out, or use redistribute");
                 }));
    mpi_group const ranks = mpi_group::duplicate_of(world);
    redistribute_options const options = how.options = detail::with_nodes(ranks, how.options);
    laid_out<tensor_view> wanted{{}, std::move(target)};
    detail::rounds_job job;
    job.source = detail::layout_of_side(ranks, source, "source");
    job.target = detail::layout_of_side(ranks, wanted, "target");
    agree_on(ranks,
             [&] { detail::plan_rounds_of(job, ranks.size(), std::move(how), memory.budget); });
    rounds_report report{job.planned, 0};
    detail::rounds_runner runner(ranks, job, std::move(source.held), memory);
    for (plan_round const& round : job.planned.rounds)
        report.most_staging_bytes =
            std::max(report.most_staging_bytes, runner.run(round, plan_options_of(options)));
    return report;
}

} // namespace reshard

#endif
