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

#include "support/device_memory.hpp"

#include <cstdlib>
#include <list>
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
    check_memory(source, target, options.devices);
    bound_plan const bound{plan,    problem,         sources, targets, &detail::all_conversions(),
                           nullptr, &options.devices};
    run_and_wait(options.devices, [&] {
        for (transfer const& t : plan.transfers)
            run_locally(bound, t);
    });
}

/// Whether the laws are tested with tensors on a fake device.
inline bool is_on_device() { return std::getenv("RESHARD_TEST_DEVICE") != nullptr; }

/// The number of calls that have used the device.
inline std::size_t& calls_on_device() {
    static std::size_t count = 0;
    return count;
}

/// The same tensors on a fake device; every second array stays in host memory.
template <class View>
class ranks_on_device {
public:
    ranks_on_device(std::span<basic_state_dict<View> const> ranks, testing::fake_device& fake) {
        for (basic_state_dict<View> const& tensors : ranks) {
            memory_.emplace_back(tensors, std::vector{&fake}, true, memory_.size() % 2);
            ranks_.push_back(memory_.back().shards());
        }
    }

    std::span<basic_state_dict<View> const> ranks() const { return ranks_; }
    void fetch() const {
        for (device_memory<View> const& memory : memory_)
            memory.fetch();
    }

private:
    std::list<device_memory<View>> memory_;
    std::vector<basic_state_dict<View>> ranks_;
};

inline void redistribute_ranks(std::span<const_state_dict const> source,
                               std::span<state_dict const> target, mapping const& program) {
    if (!is_on_device())
        return redistribute_ranks(source, target, {.program = program});
    testing::fake_device fake(std::size_t{1} << 28);
    ranks_on_device<const_tensor_view> const from(source, fake);
    ranks_on_device<tensor_view> const to(target, fake);
    redistribute_ranks(from.ranks(), to.ranks(), {.program = program, .devices = listed({&fake})});
    calls_on_device() += fake.was_used();
    to.fetch();
}

} // namespace reshard::test

#endif
