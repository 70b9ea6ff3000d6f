// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/analysis/balance.hpp>

#include "support/layouts.hpp"

#include <reshard/layout/layout_of.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/network.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::whole_problem;

BOOST_AUTO_TEST_SUITE(plan_balance_)

BOOST_AUTO_TEST_CASE(the_busiest_stand_beside_what_they_must_carry) {
    // Rank 0 alone has "a", which rank 3 wants; 0 and 1 have "b", of which 2 wants all: 32 bytes
    // each, and no sender can carry less than the half of 64.
    box const box{{0}, {8}};
    whole_problem const problem({{part("a", {8}, box), part("b", {8}, box)}, {part("b", {8}, box)}},
                                {{}, {}, {part("b", {8}, box)}, {part("a", {8}, box)}});
    plan_problem const planned = problem();
    plan_balance const balance =
        balance_of(plan_flows(planned, {.between_nodes = balanced_senders()}), 4);
    BOOST_TEST((balance.sender == plan_balance::extreme{0, 32, 32}));
    BOOST_TEST((balance.receiver == plan_balance::extreme{2, 32, 32}));
    BOOST_TEST((balance.link == plan_balance::extreme{}));
}

BOOST_AUTO_TEST_CASE(what_stays_on_a_node_crosses_no_link) {
    // Nodes {0, 1} and {2, 3}: rank 1 takes from 0 over memory, 2 and 3 take from node 0.
    box const box{{0}, {8}};
    std::vector<shard_descriptor> const shards{part("a", {8}, box)};
    whole_problem const problem({shards}, {{}, shards, shards, shards});
    plan_problem const planned = problem();
    plan_balance const balance = balance_of(plan_flows(planned, {.processes_per_node = 2}), 4);
    BOOST_TEST((balance.sender == plan_balance::extreme{0, 96, 96}));
    BOOST_TEST((balance.link == plan_balance::extreme{0, 64, 64}));
}

BOOST_AUTO_TEST_CASE(by_turns_of_targets_the_busiest_may_carry_more_than_it_must) {
    // Turns 3 and 4 of two both fall on the first.
    box const box{{0}, {8}};
    std::vector<shard_descriptor> const shards{part("a", {8}, box)};
    whole_problem const problem({shards, shards}, {{}, {}, {}, shards, shards});
    plan_problem const planned = problem();
    plan_balance const balance =
        balance_of(plan_flows(planned, {.between_nodes = {sender_choice::by_target}}), 5);
    BOOST_TEST((balance.sender == plan_balance::extreme{0, 64, 32}));
}

BOOST_AUTO_TEST_CASE(no_plan_is_faster_than_links_that_carry_what_they_must) {
    // Nodes {0, 1} and {2, 3}: 2 and 3 want 1000 bytes, of which 0 and 1 have a half each.
    std::vector<shard_descriptor> const first{part("a", {250}, {{0}, {125}})};
    std::vector<shard_descriptor> const second{part("a", {250}, {{125}, {125}})};
    std::vector<shard_descriptor> const all{part("a", {250}, {{0}, {250}})};
    whole_problem const problem({first, second}, {{}, {}, all, all});
    whole_problem const of_one({all}, {{}, {}, all, all});
    auto const least = [](whole_problem const& some, double memory) {
        plan_problem const planned = some();
        network over;
        over.ranks_per_node = 2;
        over.link = {10, 0, 0.5};
        over.memory = {memory, 0, 0};
        return least_time_of(
            plan_flows(planned, {.processes_per_node = 2, .between_nodes = detail::all_relays()}),
            over, 4);
    };
    // It enters once over both links in; the sources' ways out take as long.
    BOOST_TEST(least(problem, 100).seconds == 50.5, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(least(problem, 100).of == "the links of ranks out of their nodes");
    // Handing on takes 0.2 s a byte of both ranks, entering 0.05 s: 1600 of 2000 bytes enter.
    BOOST_TEST(least(problem, 5).seconds == 80.0, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(least(problem, 5).of == "the bytes that node 1 receives");
    // One rank has all: 1000 bytes leave it.
    BOOST_TEST(least(of_one, 100).seconds == 100.5, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(where_nothing_is_sent_nobody_is_busy) {
    std::vector<shard_descriptor> const shards{part("a", {8}, {{0}, {8}})};
    whole_problem const problem({shards}, {shards});
    plan_problem const planned = problem();
    BOOST_TEST((balance_of(plan_flows(planned), 1) == plan_balance{}));
    network free;
    free.copy = {0, 0, 0};
    BOOST_TEST(
        least_time_of(plan_flows(planned, {.between_nodes = detail::all_relays()}), free, 1).of ==
        "");
}

BOOST_AUTO_TEST_SUITE_END()
