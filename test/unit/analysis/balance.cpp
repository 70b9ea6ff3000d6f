// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/analysis/balance.hpp>

#include "support/layouts.hpp"

#include <reshard/layout/layout_of.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/flows.hpp>

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

BOOST_AUTO_TEST_CASE(where_nothing_is_sent_nobody_is_busy) {
    std::vector<shard_descriptor> const shards{part("a", {8}, {{0}, {8}})};
    whole_problem const problem({shards}, {shards});
    plan_problem const planned = problem();
    BOOST_TEST((balance_of(plan_flows(planned), 1) == plan_balance{}));
}

BOOST_AUTO_TEST_SUITE_END()
