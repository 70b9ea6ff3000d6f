// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/tree_table.hpp>

#include "support/relay_trees.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::written;
using reshard::test::written_tree;

BOOST_AUTO_TEST_SUITE(plan_tree_table)

namespace {

using holders = std::vector<holder_t>;
using runs = std::vector<receiver_run>;

/// A table with one tree, of a source and the holders of a list that are on none of some nodes.
struct one_tree {
    plan_options options;
    tree_table table{options};
    std::uint32_t number;

    one_tree(plan_options plan_options, holder_t source, holders const& list, holders const& near)
        : options(plan_options), number(table.add_tree(source, table.add_list(list), near, 100)) {}
};

holders receivers(plan_options const& options, holder_t source, holders const& list,
                  holders const& near) {
    one_tree const tree(options, source, list, near);
    return tree.number == tree_table::none ? holders() : written(tree.table.trees())[0].receivers;
}

runs runs_of(holder_t source, holders const& list, holders const& near) {
    return one_tree({}, source, list, near).table.trees().trees[0].runs;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_tree_goes_round_its_list_from_behind_the_source_on) {
    BOOST_TEST(receivers({}, 0, {0, 1, 2, 3}, {0}) == (holders{1, 2, 3}));
    BOOST_TEST(receivers({}, 2, {0, 1, 2, 3}, {2}) == (holders{3, 0, 1}));
    BOOST_TEST(receivers({}, 3, {0, 1, 2, 3}, {3}) == (holders{0, 1, 2}));
    BOOST_TEST(receivers({}, 2, {1, 3, 5}, {2}) == (holders{3, 5, 1})); // which does not want it
    BOOST_TEST(receivers({}, 9, {1, 3, 5}, {9}) == (holders{1, 3, 5}));
}

BOOST_AUTO_TEST_CASE(those_on_nodes_that_have_it_are_left_out) {
    BOOST_TEST(receivers({}, 2, {0, 1, 2, 3, 4, 5}, {0, 2, 4}) == (holders{3, 5, 1}));
    plan_options const pairs{.processes_per_node = 2};
    BOOST_TEST(receivers(pairs, 2, {0, 1, 2, 3, 4, 5}, {1}) == (holders{4, 5, 0, 1}));
    BOOST_TEST(receivers(pairs, 3, {0, 1, 2, 3, 4, 5}, {1, 2}) == (holders{0, 1}));
    // Process 0 plays 3, 1 plays 1, 2 plays 5.
    BOOST_TEST(receivers({.processes = 3}, 4, {3, 1, 5}, {1}) == (holders{5, 3}));
}

BOOST_AUTO_TEST_CASE(one_receiver_is_no_tree) {
    BOOST_TEST(one_tree({}, 0, {0, 1}, {0}).number == tree_table::none);
    BOOST_TEST(one_tree({}, 0, {0, 1, 2}, {0, 1, 2}).number == tree_table::none);
}

BOOST_AUTO_TEST_CASE(what_stands_in_the_list_without_a_gap_is_one_run) {
    BOOST_TEST((runs_of(2, {0, 1, 2, 3}, {2}) == runs{{0, 3}}));
    BOOST_TEST((runs_of(3, {0, 1, 2, 3}, {3}) == runs{{0, 0}}));
    BOOST_TEST((runs_of(5, {0, 2, 4, 6, 8}, {3, 5, 7, 9}) == runs{{0, 3}})); // none of them there
    BOOST_TEST((runs_of(4, {0, 1, 2, 3, 4, 5}, {1, 4}) == runs{{0, 5}, {2, 2}}));
}

BOOST_AUTO_TEST_CASE(a_list_and_a_tree_are_there_once) {
    plan_options const options;
    tree_table table(options);
    BOOST_TEST(table.add_list({0, 1, 2, 3}) == 0u);
    BOOST_TEST(table.add_list({1, 2, 3}) == 1u);
    BOOST_TEST(table.add_list({0, 1, 2, 3}) == 0u);
    BOOST_TEST(table.add_tree(0, 0, {0}, 100) == 0u);
    BOOST_TEST(table.add_tree(0, 1, {0}, 100) == 0u); // the same receivers, of another list
    BOOST_TEST(table.add_tree(0, 1, {0, 2}, 100) == 1u);
    BOOST_TEST(table.add_tree(2, 0, {0, 2}, 100) == 2u);
    BOOST_TEST((written(table.trees()) ==
                std::vector<written_tree>{{0, {1, 2, 3}, 1}, {0, {1, 3}, 1}, {2, {3, 1}, 1}}));
}

BOOST_AUTO_TEST_CASE(the_place_of_a_holder_is_found) {
    // Processes 0 to 6 play 7, 1, 9, 3, 4, 5, 13; nodes {0, 1}, {2, 3}, {4, 5}, {6}.
    holders const list{7, 1, 9, 3, 4, 5, 13};
    one_tree const tree({.processes = 7, .processes_per_node = 2}, 3, list, {1, 2});
    for (std::uint32_t index = 0; index < list.size(); ++index)
        BOOST_TEST((tree.table.place_in_list(0, list[index]) == index));
    auto const position_of = [&](holder_t holder) { return tree.table.place_in_tree(0, holder); };
    BOOST_TEST((written(tree.table.trees())[0].receivers == holders{13, 7, 1}));
    BOOST_TEST((position_of(13) == 0u && position_of(7) == 1u && position_of(1) == 2u));
    for (holder_t const holder : {0u, 3u, 4u, 5u, 6u, 8u, 9u, 10u})
        BOOST_TEST((position_of(holder) == std::nullopt));
}

BOOST_AUTO_TEST_SUITE_END()
