// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/options.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(plan_options_)

namespace {

std::size_t chosen(std::vector<holder_t> const& holders, holder_t target,
                   plan_options const& options = {}, std::uint64_t turn = 0) {
    return choose_replica(
        holders.size(), [&](std::size_t i) { return holders[i]; }, target, turn, options);
}

} // namespace

BOOST_AUTO_TEST_CASE(everybody_is_in_the_default_set) {
    BOOST_TEST(holder_set().is_everybody());
    BOOST_TEST(holder_set().contains(0));
    BOOST_TEST(holder_set().contains(4'000'000'000u));
}

BOOST_AUTO_TEST_CASE(a_set_contains_what_is_listed) {
    holder_set const some({7, 2, 5});
    BOOST_TEST(!some.is_everybody());
    BOOST_TEST(some.contains(2));
    BOOST_TEST(some.contains(5));
    BOOST_TEST(some.contains(7));
    BOOST_TEST(!some.contains(3));
    BOOST_TEST(!some.contains(0));
    BOOST_TEST(!holder_set::nobody().contains(0));
    BOOST_TEST(!holder_set::nobody().is_everybody());
}

BOOST_AUTO_TEST_CASE(sets_of_the_same_holders_are_equal) {
    BOOST_TEST((holder_set({3, 1, 3}) == holder_set({1, 3})));
    BOOST_TEST((holder_set({3, 1, 3}).listed() == std::vector<holder_t>{1, 3}));
    BOOST_TEST((holder_set({1}) != holder_set({1, 3})));
    BOOST_TEST((holder_set::nobody() != holder_set()));
    BOOST_TEST(holder_set().listed().empty());
}

BOOST_AUTO_TEST_CASE(processes_in_a_row_run_on_one_node) {
    plan_options const four{.processes_per_node = 4};
    BOOST_TEST(four.node_of(3) == 0u);
    BOOST_TEST(four.node_of(4) == 1u);
    BOOST_TEST(plan_options().node_of(4) == 4u);
    // Holder 9 is played by process 3 of 6, which is the second of node 1.
    BOOST_TEST((plan_options{.processes = 6, .processes_per_node = 2}.node_of(9) == 1u));
}

BOOST_AUTO_TEST_CASE(a_process_plays_every_so_manieth_holder) {
    BOOST_TEST((plan_options{0, false}.process_of(9) == 9u));
    BOOST_TEST((plan_options{4, false}.process_of(9) == 1u));
}

BOOST_AUTO_TEST_CASE(who_has_it_itself_takes_its_own) {
    BOOST_TEST(chosen({1, 4, 6}, 4) == 1u);
    BOOST_TEST(chosen({1, 4, 6}, 6) == 2u);
    // Two processes: holders 3 and 5 are played by process 1, as target 7 is.
    BOOST_TEST(chosen({4, 3, 5}, 7, {2, false}) == 1u);
}

BOOST_AUTO_TEST_CASE(turns_fall_on_each_once_and_begin_with_another_one_every_time) {
    std::vector<std::size_t> turns;
    for (std::uint64_t turn = 0; turn < 9; ++turn)
        turns.push_back(in_turn(turn, 3));
    BOOST_TEST((turns == std::vector<std::size_t>{0, 1, 2, 1, 2, 0, 2, 0, 1}));
    BOOST_TEST(in_turn(17, 1) == 0u);
    // Every other turn is skipped, and both get their share of the others: 1, 3, 5, 7 of two.
    BOOST_TEST(in_turn(1, 2) == 1u);
    BOOST_TEST(in_turn(3, 2) == 0u);
    BOOST_TEST(in_turn(5, 2) == 1u);
    BOOST_TEST(in_turn(7, 2) == 0u);
}

BOOST_AUTO_TEST_CASE(others_take_turns) {
    BOOST_TEST(chosen({10, 11, 12}, 0, {}, 0) == 0u);
    BOOST_TEST(chosen({10, 11, 12}, 0, {}, 1) == 1u);
    BOOST_TEST(chosen({10, 11, 12}, 0, {}, 4) == 2u);
    BOOST_TEST(chosen({10}, 0, {}, 5) == 0u);
}

BOOST_AUTO_TEST_CASE(those_on_the_same_node_are_asked_first_and_take_turns) {
    // Nodes of four: 0-3, 4-7, 8-11.
    plan_options const four{.processes_per_node = 4};
    BOOST_TEST(chosen({0, 4, 6, 7, 9}, 5, four, 2) == 3u); // the third of 4, 6, 7
    BOOST_TEST(chosen({0, 5, 6, 9}, 4, four, 0) == 1u);
    BOOST_TEST(chosen({0, 5, 6, 9}, 7, four, 1) == 2u);
    BOOST_TEST(chosen({0, 1, 9}, 10, four, 1) == 2u); // 9 alone is near
    BOOST_TEST(chosen({9, 10, 0}, 10, four) == 1u);   // itself before its neighbour
}

BOOST_AUTO_TEST_CASE(where_nobody_is_on_the_same_node_all_take_turns) {
    plan_options const four{.processes_per_node = 4};
    BOOST_TEST(chosen({0, 1, 9}, 4, four, 1) == 1u);
    BOOST_TEST(chosen({0, 1, 9}, 5, four, 2) == 2u);
    BOOST_TEST(chosen({0, 1, 9}, 6, four, 0) == 0u);
}

BOOST_AUTO_TEST_CASE(what_everybody_can_read_is_read_from_the_first) {
    BOOST_TEST(chosen({10, 5, 12}, 5, {0, true}) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
