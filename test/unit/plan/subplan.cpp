// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/subplan.hpp>

#include "support/layouts.hpp"

#include <reshard/expr/algebra.hpp>
#include <reshard/plan/make_plan.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

BOOST_AUTO_TEST_SUITE(plan_subplan)

namespace {

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;

/// Ranks 0 and 1 have halves of `a` and of `b`; rank 2 wants both whole, `b` in bf16, and zeros.
struct subplan_fixture {
    mapping program;
    layout source = layout_of({{part("a", {6}, {{0}, {3}}), part("b", {2, 4}, {{0, 0}, {1, 4}})},
                               {part("a", {6}, {{3}, {3}}), part("b", {2, 4}, {{1, 0}, {1, 4}})}});
    layout target = layout_of({{},
                               {},
                               {part("a", {6}, {{0}, {6}}),
                                zero_and(),
                                {"c", data_type::bf16, {2, 4}, {{0, 0}, {2, 4}}, {}}}});
    plan whole;

    static shard_descriptor zero_and() { return part("b", {5}, {{0}, {5}}); }

    subplan_fixture() {
        expression const b = program.source("b", {2, 4}, data_type::f32);
        program.define("a", program.source("a", {6}, data_type::f32));
        program.define("b", zeros({5}, data_type::f32));
        program.define("c", cast(b, data_type::bf16));
        whole = make_plan(problem_of(program, source, target));
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(each_source_is_told_its_transfers_by_numbers_of_their_own,
                        subplan_fixture) {
    auto const parts = subplans_of(whole, 2);
    BOOST_TEST_REQUIRE(parts.size() == 2u);
    subplan const& second = parts.at(1);
    // Sources are numbered as the program names them: b is 0, a is 1. Target a comes first.
    BOOST_TEST((second.sources == std::vector<key_id>{1, 0}));
    BOOST_TEST((second.part.target_dtypes == std::vector{data_type::f32, data_type::bf16}));
    BOOST_TEST_REQUIRE(second.part.transfers.size() == 2u);
    transfer const& row = second.part.transfers[1];
    BOOST_TEST(row.source_key == 1u);
    BOOST_TEST(row.target_key == 1u);
    BOOST_TEST(row.source_shard == 1u);
    cut const cut_of_row = cut_of(second.part, row);
    BOOST_TEST((cut_of_row.source_box() == box{{1, 0}, {1, 4}}));
    BOOST_TEST((wire_dtype(second.part, row) == data_type::bf16));
}

BOOST_FIXTURE_TEST_CASE(what_a_rank_gives_itself_and_zeros_are_told_to_nobody, subplan_fixture) {
    BOOST_TEST(subplans_of(whole, 0).size() == 1u);
    BOOST_TEST(subplans_of(whole, 1).count(0) == 1u);
}

BOOST_FIXTURE_TEST_CASE(told_transfers_stand_behind_those_that_are_there, subplan_fixture) {
    // Another rank's plan, in which nothing has been cast, learns what rank 1 gives.
    plan plan{{data_type::f32, data_type::f32}, {data_type::u8}, {0}, {pattern(1)}, {}, {}};
    append(plan, subplans_of(whole, 2).at(1));
    BOOST_TEST((plan.target_dtypes == std::vector{data_type::u8, data_type::f32, data_type::bf16}));
    BOOST_TEST_REQUIRE(plan.transfers.size() == 2u);
    transfer const& row = plan.transfers[1];
    BOOST_TEST(row.source_key == 0u); // b again
    BOOST_TEST(row.target_key == 2u);
    BOOST_TEST((cut_of(plan, row).source_box() == box{{1, 0}, {1, 4}}));
    BOOST_TEST((result(plan.source_dtypes[0], plan.chains[row.chain]) == data_type::bf16));
}

BOOST_AUTO_TEST_SUITE_END()
