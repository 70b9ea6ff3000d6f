// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/target_kinds.hpp>

#include "support/layouts.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::whole_problem;

BOOST_AUTO_TEST_SUITE(plan_scope_parts)

namespace {

using numbers = detail::scope_parts::numbers;

/// `w`: rank 0 has the first half, ranks 1 and 2 the second, and each rank wants all; `n` is added
/// on rank 1.
whole_problem halves_for_all() {
    box const first{{0}, {2}}, second{{2}, {2}}, box{{0}, {4}};
    mapping program;
    program.define("w", program.source("w", {4}, data_type::f32));
    program.add("n", {1}, data_type::f32);
    return whole_problem(
        {{part("w", {4}, first)}, {part("w", {4}, second)}, {part("w", {4}, second)}},
        {{part("w", {4}, box)},
         {part("w", {4}, box), part("n", {1}, {{0}, {1}})},
         {part("w", {4}, box)}},
        program);
}

struct parts_fixture {
    whole_problem all = halves_for_all();
    plan_problem problem = all();
    detail::source_indices sources{problem};
    detail::shard_kinds targets{problem.targets};

    detail::scope_parts of(plan_scope const& scope, plan_options const& options = {}) const {
        return {scope, options, sources, targets};
    }
    /// The only box of source `w` that is given.
    box given(holder_t rank) const {
        auto const parts = of({holder_set({rank}), holder_set({rank})});
        BOOST_TEST_REQUIRE(parts.given[0].size() == 1u);
        return sources.of(0)[parts.given[0][0]];
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_rank_gives_the_boxes_that_it_holds, parts_fixture) {
    BOOST_TEST((given(0) == box{{0}, {2}}));
    BOOST_TEST((given(1) == box{{2}, {2}}));
    BOOST_TEST((given(2) == box{{2}, {2}})); // its replica
    BOOST_TEST(of({holder_set({0, 2}), holder_set({0})}).given[0].size() == 2u);
    BOOST_TEST(of({holder_set::nobody(), holder_set({0})}).given[0].empty());
}

BOOST_FIXTURE_TEST_CASE(nothing_is_given_beyond_what_is_wanted, parts_fixture) {
    BOOST_TEST(of({}).given[0].empty());
    BOOST_TEST(of({holder_set({0}), {}}).given[0].empty());
    BOOST_TEST(of({holder_set({0}), holder_set({0})}, {.shared_sources = true}).given[0].empty());
}

BOOST_FIXTURE_TEST_CASE(a_rank_wants_its_shards, parts_fixture) {
    // Targets in the order of keys: n, which rank 1 has, and w.
    BOOST_TEST((of({{}, holder_set({1})}).wanted == std::vector<numbers>{{0}, {1}}));
    BOOST_TEST((of({{}, holder_set({0, 2})}).wanted == std::vector<numbers>{{}, {0, 2}}));
    BOOST_TEST((of({}).wanted == std::vector<numbers>{{0}, {0, 1, 2}}));
}

BOOST_FIXTURE_TEST_CASE(a_source_that_nobody_holds_is_given_by_nobody, parts_fixture) {
    problem.sources.push_back({"v", data_type::f32});
    detail::source_indices const indices(problem);
    detail::scope_parts const parts({holder_set({0}), holder_set({0})}, {}, indices, targets);
    BOOST_TEST_REQUIRE(parts.given.size() == 2u);
    BOOST_TEST(parts.given[1].empty());
}

BOOST_AUTO_TEST_SUITE_END()
