// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "growth/steps.hpp"

#include <reshard/layout/layout_of.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(growth_relays)

namespace {

/// A problem and the layouts and the program that it refers to.
struct gathering {
    layout source;
    layout target;
    mapping program;
    detail::plan_problem problem;

    gathering(layout from, layout to) : source(std::move(from)), target(std::move(to)) {
        catalog const wanted = catalog_of(target);
        program = identity_mapping(catalog_of(source), &wanted);
        problem = problem_of(program, source, target);
    }
    gathering(gathering const&) = delete;
    gathering& operator=(gathering const&) = delete;
};

/// Four tensors of different shapes over `ranks` ranks.
layout tensors(mesh const& ranks, std::vector<placement> const& placements, index_t rows) {
    std::vector<tensor_sharding> shardings;
    for (index_t i = 0; i < 4; ++i)
        shardings.push_back(sharding_of("w" + std::to_string(i), data_type::f32,
                                        distribution(ranks, placements, {rows, 8 + i})));
    return layout_of(std::move(shardings));
}

/// Makes the plan of one rank if all want each shard, which `replicas` ranks have, and checks it.
void check_gathering(char const* noun, index_t replicas, holder_t processes_per_node) {
    test::check_linear(noun, [=](std::size_t size) {
        auto const count = static_cast<index_t>(size);
        mesh const ranks({{"dp", replicas}, {"tp", count / replicas}});
        auto const shared =
            std::make_shared<gathering>(tensors(ranks, {replicate{}, shard{0}}, count),
                                        tensors(ranks, {replicate{}, replicate{}}, count));
        return [=] {
            holder_set const me({static_cast<holder_t>(size / 2)});
            plan const plan = make_plan(
                shared->problem, {me, me},
                {.processes_per_node = processes_per_node, .between_nodes = detail::all_relays()});
            BOOST_TEST(plan.trees.size() > size / 16);
            validate(plan);
        };
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(relays_of_all_from_all_are_planned_for_one_rank_in_linear_time) {
    check_gathering("each on a node of its own", 1, 0);
    check_gathering("nodes of eight", 1, 8);
    check_gathering("two that have each shard", 2, 0);
}

namespace {

/// How often memory is allocated for one rank's plan of `count` equal tensors, which each of two
/// trainers has and four servers want.
std::uint64_t allocations_for(index_t count, plan_options const& options) {
    std::vector<tensor_sharding> had, wanted;
    for (index_t i = 0; i < count; ++i) {
        std::string const key = "layers." + std::to_string(i) + ".a_long_name";
        had.push_back(sharding_of(key, data_type::bf16,
                                  distribution(mesh{{"dp", 2}}, {replicate{}}, {64, 64})));
        wanted.push_back(sharding_of(
            key, data_type::bf16,
            distribution(mesh{{"dp", 2}, {"tp", 2}}, {replicate{}, shard{0}}, {64, 64})));
    }
    gathering const all(layout_of(std::move(had)), layout_of(std::move(wanted)));
    std::uint64_t const before = test::allocations_so_far();
    detail::plan_problem const problem = problem_of(all.program, all.source, all.target);
    holder_set const me({3});
    plan const made = make_plan(problem, {me, me}, options);
    BOOST_TEST(made.transfers.size() >= static_cast<std::size_t>(count));
    return test::allocations_so_far() - before;
}

} // namespace

// Vectors double: a few allocations each.
BOOST_AUTO_TEST_CASE(equal_tensors_are_planned_as_one) {
    for (detail::node_traffic const& traffic : {detail::node_traffic(), relays({.ranks_per_node = 2,
                                                                        .copy = {},
                                                                        .memory = {},
                                                                        .link = {1e9, 1e9, 1e-6},
                                                                        .rack = {}})}) {
        plan_options const options{.processes_per_node = 2, .between_nodes = traffic};
        std::uint64_t const few = allocations_for(1000, options);
        BOOST_TEST(allocations_for(8000, options) < few + 64, few << " for a thousand");
    }
}

BOOST_AUTO_TEST_SUITE_END()
