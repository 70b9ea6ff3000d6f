// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/cut_list.hpp>

#include "support/layouts.hpp"
#include "support/says.hpp"

#include <reshard/expr/algebra.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::says;
using reshard::test::whole_problem;

BOOST_AUTO_TEST_SUITE(plan_cut_list)

namespace {

/// "ab" is a above b, transposed: 3 x 4; a is 1 x 3 on rank 0, b is 3 x 3 on ranks 1 (one row) and 2.
whole_problem turned() {
    mapping program;
    expression const a = program.source("a", {1, 3}, data_type::f32);
    expression const b = program.source("b", {3, 3}, data_type::f32);
    program.define("ab", transpose(concat({a, b}, 0)));
    return {{{part("a", {1, 3}, {{0, 0}, {1, 3}})},
             {part("b", {3, 3}, {{0, 0}, {1, 3}})},
             {part("b", {3, 3}, {{1, 0}, {2, 3}})}},
            {{part("ab", {3, 4}, {{0, 0}, {2, 2}})}, {part("ab", {3, 4}, {{2, 1}, {1, 3}})}},
            program};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_target_shard_is_cut_by_pieces_and_by_source_shards) {
    whole_problem const whole_problem = turned();
    plan_problem const problem = whole_problem();
    detail::source_indices const sources(problem);
    detail::cut_finder const finder(problem, problem.targets[0], sources);
    placed_pattern pattern(2);
    finder.find_sources_of(1, pattern);
    pattern.sort();
    // Row 2, columns 1 to 3: column 1 is row 0 of b, columns 2 and 3 are its rows 1 and 2.
    BOOST_TEST_REQUIRE(pattern.size() == 2u);
    BOOST_TEST((pattern[0].geometry.target_box() == box{{2, 1}, {1, 1}}));
    BOOST_TEST((pattern[0].geometry.source_box() == box{{0, 2}, {1, 1}}));
    BOOST_TEST(pattern.place(0).piece == 1u);
    BOOST_TEST(pattern.place(0).source_box == 0u);
    BOOST_TEST((pattern[1].geometry.target_box() == box{{2, 2}, {1, 2}}));
    BOOST_TEST((pattern[1].geometry.source_box() == box{{1, 2}, {2, 1}}));
    BOOST_TEST(pattern.place(1).source_box == 1u);
    BOOST_TEST(pattern.place(1).target_shard == 1u);
}

BOOST_AUTO_TEST_CASE(what_a_source_gives_is_what_the_targets_ask_for) {
    whole_problem const whole_problem = turned();
    plan_problem const problem = whole_problem();
    detail::source_indices const sources(problem);
    detail::cut_finder const finder(problem, problem.targets[0], sources);
    shard_index const targets(problem.targets[0].shards);
    placed_pattern pattern(2);
    finder.find_targets_of(
        1, 0, targets, [](std::uint32_t) { return true; }, pattern);
    pattern.sort();
    // Row 0 of b is column 1 of the target: rows 0 and 1 for shard 0, row 2 for shard 1.
    BOOST_TEST_REQUIRE(pattern.size() == 2u);
    BOOST_TEST((pattern[0].geometry.target_box() == box{{0, 1}, {2, 1}}));
    BOOST_TEST((pattern[0].geometry.source_box() == box{{0, 0}, {1, 2}}));
    BOOST_TEST((pattern[1].geometry.target_box() == box{{2, 1}, {1, 1}}));
    placed_pattern some(2);
    finder.find_targets_of(
        1, 0, targets, [](std::uint32_t shard) { return shard == 1; }, some);
    BOOST_TEST(some.size() == 1u);
}

BOOST_AUTO_TEST_CASE(elements_that_nobody_holds_are_named_on_both_sides) {
    mapping program;
    program.define("t", transpose(program.source("w", {4, 6}, data_type::f32)));
    whole_problem const whole_problem({{part("w", {4, 6}, {{0, 0}, {3, 6}})}},
                                      {{part("t", {6, 4}, {{2, 0}, {2, 4}})}}, program);
    plan_problem const problem = whole_problem();
    detail::source_indices const sources(problem);
    detail::cut_finder const finder(problem, problem.targets[0], sources);
    placed_pattern pattern(2);
    BOOST_CHECK_EXCEPTION(
        finder.find_sources_of(0, pattern), error,
        says(errc::not_covered,
             "'t' elements [2:4, 3:4], which rank 0 wants, are missing from the source; "
             "source 'w' lacks [3:4, 2:4]"));
}

BOOST_AUTO_TEST_CASE(a_source_that_nobody_holds_at_all_is_named) {
    mapping program;
    program.define("w", program.source("w", {4}, data_type::f32));
    whole_problem const whole_problem({{}}, {{}, {part("w", {4}, {{1}, {2}})}}, program);
    plan_problem const problem = whole_problem();
    detail::source_indices const sources(problem);
    detail::cut_finder const finder(problem, problem.targets[0], sources);
    placed_pattern pattern(1);
    BOOST_CHECK_EXCEPTION(
        finder.find_sources_of(0, pattern), error,
        says(errc::not_covered,
             "'w' elements [1:3], which rank 1 wants, are missing from the source; "
             "source 'w' lacks [1:3]"));
}

BOOST_AUTO_TEST_CASE(empty_shards_are_made_of_nothing) {
    mapping program;
    program.define("w", program.source("w", {4}, data_type::f32));
    whole_problem const whole_problem({{}}, {{part("w", {4}, {{4}, {0}})}}, program);
    plan_problem const problem = whole_problem();
    detail::source_indices const sources(problem);
    placed_pattern pattern(1);
    detail::cut_finder(problem, problem.targets[0], sources).find_sources_of(0, pattern);
    BOOST_TEST(pattern.size() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
