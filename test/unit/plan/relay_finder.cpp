// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/relay_finder.hpp>

#include "support/layouts.hpp"
#include "support/relay_trees.hpp"

#include <reshard/analysis/simulation.hpp>
#include <reshard/expr/cast.hpp>
#include <reshard/expr/expression.hpp>
#include <reshard/expr/permute.hpp>
#include <reshard/layout/layout_of.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/verify.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::whole_problem;
using reshard::test::written;
using reshard::test::written_tree;

BOOST_AUTO_TEST_SUITE(plan_relay_finder)

namespace {

using shards = std::vector<shard_descriptor>;

shards const one{part("a", {8}, {{0}, {8}})};

std::vector<written_tree> trees(whole_problem const& problem, plan_options options) {
    options.between_nodes = detail::all_relays();
    plan_problem const planned = problem();
    return written(make_plan(planned, {}, options).trees);
}

/// 32 bytes that rank 0 has, for `replicas` ranks after it.
whole_problem one_to(std::size_t replicas) {
    std::vector<shards> targets{{}};
    targets.resize(1 + replicas, one);
    return {{one}, targets};
}

} // namespace

BOOST_AUTO_TEST_CASE(those_on_other_nodes_are_a_tree) {
    // Nodes {0, 1}, {2, 3}, {4, 5}: rank 1 has the source on its node.
    BOOST_TEST((trees(one_to(5), {.processes_per_node = 2}) ==
                std::vector<written_tree>{{0, {2, 3, 4, 5}, 1}}));
    // Each rank on its own: two branches, for there is one chunk.
    BOOST_TEST((trees(one_to(7), {}) == std::vector<written_tree>{{0, {1, 2, 3, 4, 5, 6, 7}, 2}}));
}

BOOST_AUTO_TEST_CASE(one_receiver_gets_directly) {
    BOOST_TEST(trees(one_to(1), {}).empty());
    BOOST_TEST(trees(one_to(2), {.processes_per_node = 2}).empty());
}

BOOST_AUTO_TEST_CASE(a_tree_begins_behind_its_source) {
    BOOST_TEST((trees({{{}, {}, one}, {one, one, {}, one, one}}, {}) ==
                std::vector<written_tree>{{2, {3, 4, 0, 1}, 1}}));
}

BOOST_AUTO_TEST_CASE(of_holders_that_one_process_plays_the_first_passes_on) {
    // Process 0 plays 0, 3; 1 plays 1, 4; 2 plays 2, 5.
    BOOST_TEST((trees(one_to(5), {.processes = 3}) == std::vector<written_tree>{{0, {1, 2}, 1}}));
}

BOOST_AUTO_TEST_CASE(who_has_it_is_not_in_the_tree) {
    BOOST_TEST((trees({{one, {}, one}, {one, one, one, one}}, {}) ==
                std::vector<written_tree>{{0, {1, 3}, 1}}));
}

BOOST_AUTO_TEST_CASE(a_rank_with_equal_shards_is_in_the_tree_once) {
    shards const twice{one[0], one[0]};
    whole_problem const problem({one}, {{}, twice, one});
    plan_problem const planned = problem();
    plan const plan = make_plan(planned, {}, {.between_nodes = detail::all_relays()});
    BOOST_TEST((written(plan.trees) == std::vector<written_tree>{{0, {1, 2}, 1}}));
    BOOST_TEST(plan.transfers.size() == 3u);
    BOOST_TEST(plan.relays.size() == 2u);
}

BOOST_AUTO_TEST_CASE(what_is_wider_in_the_target_is_not_passed_on) {
    auto const trees_of_cast = [](data_type from, data_type to) {
        shards const held_shards{{"a", from, {8}, {{0}, {8}}, {}}},
            wanted{{"a", to, {8}, {{0}, {8}}, {}}};
        mapping program;
        program.define("a", cast(program.source("a", {8}, from), to));
        return trees({{held_shards}, {{}, wanted, wanted}, program}, {}).size();
    };
    BOOST_TEST(trees_of_cast(data_type::bf16, data_type::f32) == 0u);
    BOOST_TEST(trees_of_cast(data_type::f32, data_type::bf16) == 1u);
}

BOOST_AUTO_TEST_CASE(replicas_take_turns_from_tensor_to_tensor) {
    // Ranks 0 to 3 have four tensors of 32 bytes, each of which 40 others want.
    shards have;
    std::vector<shards> sources, targets(4);
    for (std::string const key : {"a", "b", "c", "d"}) {
        have.push_back(part(key, {8}, {{0}, {8}}));
        targets.resize(targets.size() + 40, {have.back()});
    }
    sources.resize(4, have);
    plan_options const options{.between_nodes = detail::all_relays()};
    whole_problem const problem(sources, targets);
    plan_problem const planned = problem();
    plan_cost const cost = cost_of(plan_flows(planned, options), 164);
    for (std::size_t rank = 0; rank < 4; ++rank)
        BOOST_TEST(cost.by_process[rank].bytes_out == 32);
}

BOOST_AUTO_TEST_CASE(the_source_gives_one_copy_and_everybody_else_at_most_two) {
    plan_options const options{.between_nodes = detail::all_relays()};
    whole_problem const problem = one_to(7);
    plan_problem const planned = problem();
    plan_cost const cost = cost_of(plan_flows(planned, options), 8);
    BOOST_TEST(cost.transfers == 7);
    BOOST_TEST(cost.relays == 6);
    BOOST_TEST(cost.by_process[0].bytes_out == 32);
    BOOST_TEST(cost.by_process[0].bytes_relayed == 0);
    BOOST_TEST(cost.by_process[1].bytes_out == 64); // to 2 and to 5
    BOOST_TEST(cost.by_process[1].bytes_relayed == 64);
    BOOST_TEST(cost.by_process[7].bytes_out == 0);
}

BOOST_AUTO_TEST_CASE(each_rank_of_a_node_gets_a_stripe_of_equal_tensors) {
    // Nodes {0, 1}, {2, 3}, {4, 5}: rank 0 has four tensors, which the ranks from 2 on want.
    shards have;
    for (std::string const key : {"a", "b", "c", "d"})
        have.push_back(part(key, {8}, {{0}, {8}}));
    whole_problem const problem({have}, {{}, {}, have, have, have, have});
    BOOST_TEST((trees(problem, {.processes_per_node = 2}) ==
                std::vector<written_tree>{{0, {2, 3, 4, 5}, 1}, {0, {3, 2, 5, 4}, 1}}));
}

BOOST_AUTO_TEST_CASE(one_large_tensor_is_cut_into_stripes) {
    // As above, and on the last node is one rank.
    index_t const rows = 100, columns = 1000;
    for (bool const is_transposed : {false, true}) {
        index_vector const held{rows, columns}, wanted{columns, rows};
        shards const have{part("a", held, {{0, 0}, held})};
        shards const want{is_transposed ? part("a", wanted, {{0, 0}, wanted}) : have[0]};
        mapping program;
        expression const source = program.source("a", held, have[0].dtype);
        program.define("a", is_transposed ? transpose(source) : source);
        whole_problem const problem({have}, {{}, {}, want, want, want}, program);
        plan_options const options{.processes_per_node = 2, .between_nodes = detail::all_relays()};
        plan_problem const planned = problem();
        plan const plan = make_plan(planned, {}, options);
        BOOST_TEST((written(plan.trees) ==
                    std::vector<written_tree>{{0, {2, 3, 4}, 1}, {0, {3, 2, 4}, 1}}));
        BOOST_TEST(plan.transfers.size() == 6u);
        BOOST_TEST(!verify(plan, planned));
        validate(plan);
        plan_cost const cost = cost_of(plan_flows(planned, options), 5);
        index_t const first = is_transposed ? 504 * rows : 56 * columns; // to whole bytes
        BOOST_TEST(cost.by_process[0].bytes_out == 4 * rows * columns);
        BOOST_TEST(cost.by_process[2].bytes_relayed + cost.by_process[3].bytes_relayed ==
                   8 * rows * columns);
        BOOST_TEST(cost.by_process[2].bytes_relayed == 4 * rows * columns);
        BOOST_TEST(wire_bytes(plan, plan.transfers[0]) == 4 * first);
    }
}

BOOST_AUTO_TEST_CASE(many_replicas_get_a_model_in_nearly_the_time_of_one) {
    // Sixteen matrices of 1 GiB, by rows over the 8 ranks of a node; replicas on separate nodes.
    auto const model = [](index_t replicas) {
        std::vector<tensor_sharding> tensors;
        for (int i = 0; i < 16; ++i)
            tensors.push_back(sharding_of("w" + std::to_string(10 + i), data_type::f32,
                                          distribution(mesh({{"dp", replicas}, {"tp", 8}}),
                                                       {replicate{}, shard{0}}, {16384, 16384})));
        return layout_of(std::move(tensors));
    };
    layout const source = model(1);
    auto const seconds = [&](index_t replicas, node_traffic const& traffic) {
        layout const target = model(1 + replicas); // the ranks that have it already, and others
        catalog const wanted = catalog_of(target);
        mapping const program = identity_mapping(catalog_of(source), &wanted);
        plan_problem const problem = problem_of(program, source, target);
        return simulate(plan_flows(problem, {.processes_per_node = 8, .between_nodes = traffic}),
                        network{})
            .seconds;
    };
    double const of_one = seconds(1, balanced_senders());
    for (index_t const replicas : {2, 8, 64, 512})
        BOOST_TEST(seconds(replicas, relays()) <= 1.3 * of_one);
    BOOST_TEST(seconds(4, balanced_senders()) >= 3.9 * of_one);
}

BOOST_AUTO_TEST_SUITE_END()
