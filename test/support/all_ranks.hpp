// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_ALL_RANKS_HPP
#define RESHARD_TEST_SUPPORT_ALL_RANKS_HPP

#include <reshard/bind/bind.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/bind/overlap.hpp>
#include <reshard/bind/program.hpp>
#include <reshard/copy/conversions.hpp>
#include <reshard/copy/copy_elements.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A redistribution whose ranks are all in this process.

namespace reshard::test {

using namespace reshard::detail;

/// The descriptors of the tensors of all ranks, one list a rank, as one layout.
template <class View>
layout layout_of_ranks(std::span<basic_state_dict<View> const> ranks) {
    std::vector<std::vector<shard_descriptor>> shards;
    for (basic_state_dict<View> const& tensors : ranks)
        shards.push_back(tensors.descriptors());
    return layout_of(shards);
}

/// Fills the tensors of `target` from the tensors of `source`; element `r` is rank `r`. By name, or
/// as the mapping in `options.program` says. Nothing is written if something is wrong.
inline void redistribute_ranks(std::span<const_state_dict const> source,
                               std::span<state_dict const> target, options const& options = {}) {
    layout const have = layout_of_ranks(source);
    layout const want = layout_of_ranks(target);
    mapping const* const mapping = options.program.known();
    auto const [program, verdict] =
        detail::fitted_program(mapping ? std::optional(*mapping) : std::nullopt, catalog_of(have),
                               want, {options.strict.value, options.shape_mismatch.value});
    plan_problem const problem = problem_of(program, have, want);
    plan const plan = make_plan(problem, {}, {.processes_per_node = options.processes_per_node});
    shard_views<const_tensor_view> sources;
    shard_views<tensor_view> targets;
    for (holder_t rank = 0; rank < source.size(); ++rank)
        sources.add(source[rank], have, rank);
    for (holder_t rank = 0; rank < target.size(); ++rank)
        targets.add(target[rank], want, rank);
    check_memory(source, target);
    for (transfer const& t : plan.transfers)
        run_locally({plan, problem, sources, targets, &detail::all_conversions()}, t);
}

inline void redistribute_ranks(std::span<const_state_dict const> source,
                               std::span<state_dict const> target, mapping const& program) {
    redistribute_ranks(source, target, {.program = program});
}

} // namespace reshard::test

#endif
