// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/relay_trees.hpp>

#include "support/relay_trees.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::written;
using reshard::test::written_tree;

BOOST_AUTO_TEST_SUITE(plan_relay_trees)

namespace {

/// Of six holders, the ones after 14 and before 11, counted round: 15, 16 and 10; and 12.
relay_trees one_tree() { return {{{10, 11, 12, 13, 14, 15}}, {{1, 0, 4, 1, {{0, 4}, {3, 2}}}}}; }

/// The error of that tree once `change` has changed it.
std::string fault_of(auto&& change) {
    relay_trees trees = one_tree();
    change(trees);
    char const* const fault = tree_fault(trees);
    return fault ? fault : "";
}

/// The same of runs.
std::string fault_of_runs(std::uint32_t size, std::vector<receiver_run> const& runs) {
    return fault_of([&](relay_trees& trees) {
        trees.trees[0].size = size;
        trees.trees[0].runs = runs;
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(receivers_are_parts_of_a_list_that_goes_round) {
    BOOST_TEST((written(one_tree()) == std::vector<written_tree>{{1, {14, 15, 10, 12}, 1}}));
}

BOOST_AUTO_TEST_CASE(trees_are_compared_by_who_is_in_them) {
    relay_trees trees = one_tree();
    trees.lists.push_back({14, 15, 10, 12, 13});
    trees.trees.push_back({1, 1, 4, 1, {{0, 0}}}); // the same ones
    trees.trees.push_back({1, 1, 5, 1, {{0, 0}}}); // one more
    trees.trees.push_back({1, 0, 4, 1, {{0, 5}}}); // 15, 10, 11, 12
    trees.trees.push_back({0, 0, 4, 1, {{0, 5}}});
    BOOST_TEST((trees[0] == trees[0]));
    BOOST_TEST((trees[0] == trees[1]));
    BOOST_TEST((trees[0] < trees[2]));
    BOOST_TEST((trees[2] < trees[3]));
    BOOST_TEST((trees[4] < trees[0]));
}

BOOST_AUTO_TEST_CASE(receivers_that_are_not_in_the_list_are_refused) {
    std::string const text = "a relay tree with receivers that are not in its list";
    BOOST_TEST(fault_of_runs(4, {{0, 4}, {3, 2}}) == "");
    BOOST_TEST(fault_of_runs(6, {{0, 5}}) == "");
    BOOST_TEST(fault_of_runs(7, {{0, 5}}) == text);
    BOOST_TEST(fault_of_runs(0xffffffff, {{0, 5}}) == text);
    BOOST_TEST(fault_of_runs(4, {}) == text);
    BOOST_TEST(fault_of_runs(4, {{1, 0}}) == text); // nobody at its first place
    BOOST_TEST(fault_of_runs(4, {{0, 6}}) == text); // behind the list
    BOOST_TEST(fault_of_runs(4, {{0, 4}, {3, 0xffffffff}}) == text);
    BOOST_TEST(fault_of_runs(3, {{0, 4}, {3, 2}}) == text);         // a run of nobody
    BOOST_TEST(fault_of_runs(4, {{0, 4}, {3, 2}, {2, 3}}) == text); // and of fewer
    BOOST_TEST(fault_of_runs(4, {{0, 4}, {3, 0}}) == text);         // 10 twice
    BOOST_TEST(fault_of_runs(6, {{0, 4}, {3, 2}}) == text);         // 14 twice, round the list
    BOOST_TEST(fault_of_runs(4, {{0, 0}, {1, 3}, {2, 1}}) == text); // not in the order of the list
    BOOST_TEST(fault_of([](relay_trees& trees) { trees.lists[0].clear(); }) == text);
}

BOOST_AUTO_TEST_CASE(a_list_that_there_is_not_is_refused) {
    for (std::uint32_t const list : {1u, 0xffffffffu})
        BOOST_TEST(fault_of([&](relay_trees& trees) { trees.trees[0].list = list; }) ==
                   "a relay tree of a list that does not exist");
}

BOOST_AUTO_TEST_CASE(a_source_is_none_of_its_receivers) {
    for (holder_t const source : {10u, 12u, 14u, 15u, no_holder})
        BOOST_TEST(fault_of([&](relay_trees& trees) { trees.trees[0].source = source; }) ==
                   "a relay tree that lists a holder twice, or lists no_holder");
    for (holder_t const source : {0u, 11u, 13u, 16u}) // some of them in the list
        BOOST_TEST(fault_of([&](relay_trees& trees) { trees.trees[0].source = source; }) == "");
}

BOOST_AUTO_TEST_CASE(a_list_has_each_holder_once) {
    for (holder_t const holder : {10u, 14u, no_holder})
        BOOST_TEST(fault_of([&](relay_trees& trees) { trees.lists[0][1] = holder; }) ==
                   "a relay tree that lists a holder twice, or lists no_holder");
}

BOOST_AUTO_TEST_CASE(a_tree_that_is_there_twice_is_refused_whatever_its_list) {
    std::string const text = "the same relay tree twice";
    BOOST_TEST(fault_of([](relay_trees& trees) { trees.trees.push_back(trees.trees[0]); }) == text);
    BOOST_TEST(fault_of([](relay_trees& trees) {
                   trees.lists.push_back({14, 15, 10, 12});
                   trees.trees.push_back({1, 1, 4, 1, {{0, 0}}});
               }) == text);
}

BOOST_AUTO_TEST_SUITE_END()
