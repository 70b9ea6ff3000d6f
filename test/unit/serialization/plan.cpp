// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/plan.hpp>

#include "support/archives.hpp"
#include "support/layouts.hpp"

#include <reshard/expr/algebra.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/make_plan.hpp>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(serialization_plan)

namespace {

/// Two equal layers that are cut and cast, and zeros: two patterns, two chains, flat shards.
plan made() {
    mapping program;
    for (std::string const key : {"a", "b"})
        program.define(
            key, transpose(cast(cast(program.source(key, {4, 6}, data_type::f32), data_type::bf16),
                                data_type::f32)));
    program.define("z", zeros({3}, data_type::f32));
    std::vector<std::vector<shard_descriptor>> source(2), target(2);
    for (std::string const key : {"a", "b"}) {
        source[0].push_back(part(key, {4, 6}, {{0, 0}, {4, 6}}, flat_range{0, 13}));
        source[1].push_back(part(key, {4, 6}, {{0, 0}, {4, 6}}, flat_range{13, 24}));
        target[0].push_back(part(key, {6, 4}, {{0, 0}, {6, 1}}));
        target[1].push_back(part(key, {6, 4}, {{0, 1}, {6, 3}}));
    }
    target[1].push_back(part("z", {3}, {{0}, {3}}));
    return make_plan(whole_problem(source, target, program)());
}

/// Four ranks that want the elements of each of them, and the elements that rank 0 and rank 2 both
/// have: four trees of one run, and one of two.
plan relayed() {
    std::vector<std::vector<shard_descriptor>> source(4), target(4);
    for (std::size_t rank = 0; rank < 4; ++rank) {
        source[rank].push_back(part("a", {8}, {{2 * static_cast<index_t>(rank)}, {2}}));
        target[rank].push_back(part("a", {8}, {{0}, {8}}));
        target[rank].push_back(part("b", {3}, {{0}, {3}}));
        if (rank % 2 == 0)
            source[rank].push_back(part("b", {3}, {{0}, {3}}));
    }
    return make_plan(whole_problem(source, target)(), {}, {.between_nodes = detail::all_relays()});
}

std::string fault_of(plan const& wrong) {
    return said([&] { from_bytes<plan>(to_bytes(wrong)); });
}

} // namespace

BOOST_AUTO_TEST_CASE(plans_come_back_as_they_were) {
    plan const whole_plan = made();
    BOOST_TEST(whole_plan.patterns.size() == 2u);
    BOOST_TEST(comes_back(whole_plan));
    BOOST_TEST(comes_back(plan()));
    plan const back = from_bytes<plan>(to_bytes(whole_plan));
    BOOST_TEST_REQUIRE(back.pattern_of.size() == 3u);
    BOOST_TEST(back.pattern_of[0] == back.pattern_of[1]);
    BOOST_TEST(back.pattern_of[0] != back.pattern_of[2]);
    BOOST_TEST(back.transfers.back().source_holder == no_holder);
    BOOST_TEST((cut_of(back, back.transfers[0]) == cut_of(whole_plan, whole_plan.transfers[0])));
}

BOOST_AUTO_TEST_CASE(archives_that_are_cut_off_are_refused) {
    BOOST_TEST(cut_archives_that_pass(made()) == 0);
}

BOOST_AUTO_TEST_CASE(damaged_archives_are_refused_or_read_as_another_plan) {
    BOOST_TEST(damaged_archives_that_pass(made()) > 0);
}

BOOST_AUTO_TEST_CASE(plans_with_trees_come_back_as_they_were) {
    plan const plan = relayed();
    BOOST_TEST(plan.trees.size() == 5u);
    BOOST_TEST(plan.trees.lists.size() == 1u); // all four
    BOOST_TEST(comes_back(plan));
    BOOST_TEST(cut_archives_that_pass(plan) == 0);
    BOOST_TEST(damaged_archives_that_pass(plan) > 0);
}

BOOST_AUTO_TEST_CASE(trees_with_receivers_that_their_list_does_not_have_are_refused) {
    plan wrong = relayed();
    wrong.trees.trees[4].runs.back().first = 4;
    BOOST_TEST(fault_of(wrong) == "corrupt_file: the archive of a plan contradicts itself: it has "
                                  "a relay tree with receivers that are not in its list");
}

BOOST_AUTO_TEST_CASE(numbers_beyond_what_the_plan_has_are_refused) {
    plan wrong = made();
    wrong.transfers[0].target_key = 3;
    BOOST_TEST(fault_of(wrong) == "corrupt_file: the archive of a plan contradicts itself: it has "
                                  "a transfer with a target that does not exist");
    wrong = made();
    wrong.transfers[0].cut = 1000;
    BOOST_TEST(fault_of(wrong) == "corrupt_file: the archive of a plan contradicts itself: it has "
                                  "a transfer with a cut that does not exist");
    wrong = made();
    wrong.transfers[0].chain = 9;
    BOOST_TEST(fault_of(wrong) == "corrupt_file: the archive of a plan contradicts itself: it has "
                                  "a transfer with a chain of steps that does not exist");
    wrong = made();
    wrong.transfers[0].source_key = 2;
    BOOST_TEST(fault_of(wrong) == "corrupt_file: the archive of a plan contradicts itself: it has "
                                  "a transfer with a source that does not exist");
    wrong = made();
    wrong.pattern_of[2] = 2;
    BOOST_TEST(fault_of(wrong) ==
               "corrupt_file: the archive of a plan contradicts itself: it refers to pattern 2 of "
               "2");
    wrong = made();
    wrong.pattern_of.pop_back();
    BOOST_TEST(fault_of(wrong) == "corrupt_file: the archive of a plan contradicts itself: it has "
                                  "patterns for 2 of 3 targets");
}

BOOST_AUTO_TEST_CASE(transfers_that_cannot_be_run_are_refused) {
    plan wrong = made();
    wrong.transfers[0].source_holder = no_holder;
    BOOST_TEST(fault_of(wrong) == "corrupt_file: the archive of a plan contradicts itself: it has "
                                  "a transfer with a source without "
                                  "a holder, or a holder without a source");
    wrong = made();
    wrong.target_dtypes[0] = data_type::f64;
    BOOST_TEST(fault_of(wrong) ==
               "corrupt_file: the archive of a plan contradicts itself: it has "
               "a transfer with steps that do not end in the target's data type");
    wrong = made();
    std::swap(wrong.transfers.front(), wrong.transfers.back());
    BOOST_TEST(
        fault_of(wrong) ==
        "corrupt_file: the archive of a plan contradicts itself: it has transfers out of order");
}

BOOST_AUTO_TEST_CASE(cuts_that_are_no_boxes_are_refused) {
    plan wrong;
    wrong.patterns.emplace_back(1u);
    wrong.patterns[0].push_back({permutation::identity(1), {0}, {0}, {-1}});
    BOOST_TEST(fault_of(wrong) == "corrupt_file: the archive of a plan contradicts itself: the "
                                  "factors [-1] are not valid extents");
    index_t const large = index_t{1} << 32;
    wrong.patterns[0] = pattern(2);
    wrong.patterns[0].push_back({permutation::identity(2), {0, 0}, {0, 0}, {large, large}});
    BOOST_TEST(fault_of(wrong) ==
               "corrupt_file: the archive of a plan contradicts itself: the product of the extents "
               "4294967296 and 4294967296 does not fit in 64 bits");
}

BOOST_AUTO_TEST_SUITE_END()
