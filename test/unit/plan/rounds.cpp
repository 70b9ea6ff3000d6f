// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/flows.hpp>
#include <reshard/plan/rounds.hpp>

#include "support/layouts.hpp"
#include "support/says.hpp"

#include <reshard/expr/algebra.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::says;
using reshard::test::whole_problem;

BOOST_AUTO_TEST_SUITE(plan_rounds_)

namespace {

shard_descriptor whole_of(std::string const& key, index_t count) {
    return part(key, {count}, {{0}, {count}});
}

/// Rank 0 has 40, 20 and 20 bytes; rank 1 wants them.
whole_problem moving_on() {
    std::vector<shard_descriptor> const shards{whole_of("a", 10), whole_of("b", 5),
                                               whole_of("c", 5)};
    return {{shards}, {{}, shards}};
}

plan_rounds rounds_of(whole_problem const& whole_problem, index_t budget = any_budget) {
    plan_problem const problem = whole_problem();
    return reshard::rounds_of(plan_flows(problem), 2, budget);
}

} // namespace

BOOST_AUTO_TEST_CASE(without_a_budget_there_is_one_round) {
    // Both ranks have 80 bytes, and stage 80.
    plan_rounds const rounds = rounds_of(moving_on());
    BOOST_TEST(rounds.least_budget == 120);
    BOOST_TEST_REQUIRE(rounds.rounds.size() == 1u);
    BOOST_TEST((rounds.rounds[0] == plan_round{0, 3, {0, 1, 2}, 3, 80, 0, 160, 0}));
}

BOOST_AUTO_TEST_CASE(a_budget_makes_as_few_rounds_as_can_be) {
    // `a` alone: rank 0 has 80 and stages 40. With `b` it would stage 60. After `a` is given up,
    // rank 1 has 80 and stages 40 for `b` and `c`.
    plan_rounds const rounds = rounds_of(moving_on(), 120);
    BOOST_TEST_REQUIRE(rounds.rounds.size() == 2u);
    BOOST_TEST((rounds.rounds[0] == plan_round{0, 1, {0}, 1, 40, 0, 120, 0}));
    BOOST_TEST((rounds.rounds[1] == plan_round{1, 3, {1, 2}, 2, 40, 0, 120, 1}));
    BOOST_TEST(rounds_of(moving_on(), 139).rounds.size() == 2u);
    BOOST_TEST(rounds_of(moving_on(), 140).rounds[0].last == 2u); // 80 and 60
    BOOST_TEST(rounds_of(moving_on(), 160).rounds.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_budget_that_is_too_small_is_refused_with_one_that_does) {
    BOOST_CHECK_EXCEPTION(
        rounds_of(moving_on(), 119), error,
        says(errc::limit_exceeded,
             "'a' cannot be filled with a memory budget of 119 bytes: even in a separate round, "
             "rank 0 "
             "needs 120 bytes of tensors and staging; a budget of 120 bytes would be enough"));
    // 12 bytes stay, and 96 arrive: rank 1 then has 108 and stages 96.
    whole_problem const later({{whole_of("b", 24)}, {whole_of("a", 3)}},
                              {{}, {whole_of("a", 3), whole_of("b", 24)}});
    BOOST_CHECK_EXCEPTION(
        rounds_of(later, 200), error,
        says(errc::limit_exceeded,
             "'b' cannot be filled with a memory budget of 200 bytes: even in a separate round, "
             "rank 1 "
             "needs 204 bytes of tensors and staging; a budget of 204 bytes would be enough"));
    BOOST_TEST(rounds_of(later, 204).rounds.size() == 2u); // in one, `a` exists twice
}

BOOST_AUTO_TEST_CASE(a_source_stays_until_its_last_use_is_over) {
    // `w` becomes the halves `p` and `q`; `x` is not used and goes at once.
    mapping program;
    auto const halves = split(program.source("w", {4}, data_type::f32), 0, 2);
    program.source("x", {7}, data_type::f32);
    program.define("p", halves[0]);
    program.define("q", halves[1]);
    whole_problem const problem({{whole_of("w", 4), whole_of("x", 7)}},
                                {{whole_of("p", 2), whole_of("q", 2)}}, program);
    // Rank 0 has 44 bytes; 52 with `p`. Then 24; 32 with `q`.
    plan_rounds const some = rounds_of(problem, 52);
    BOOST_TEST_REQUIRE(some.rounds.size() == 2u);
    BOOST_TEST((some.rounds[0] == plan_round{0, 1, {1}, 1, 8, 8, 52, 0}));
    BOOST_TEST((some.rounds[1] == plan_round{1, 2, {0}, 1, 8, 8, 32, 0}));
}

BOOST_AUTO_TEST_CASE(staging_counts_no_more_than_it_takes) {
    index_t const large = 100'000'000;
    whole_problem const problem({{whole_of("w", large)}}, {{}, {whole_of("w", large)}});
    BOOST_TEST(rounds_of(problem).least_budget == 4 * large + 8 * 1024 * 1024);
}

BOOST_AUTO_TEST_CASE(where_nothing_is_wanted_there_are_no_rounds) {
    plan_rounds const none = rounds_of(whole_problem({{whole_of("w", 4)}}, {{}}), 0);
    BOOST_TEST(none.rounds.empty());
    BOOST_TEST(none.least_budget == 0);
}

BOOST_AUTO_TEST_SUITE_END()
