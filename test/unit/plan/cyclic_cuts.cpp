// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/cyclic_cuts.hpp>

#include "oracle/random.hpp"

#include <reshard/layout/layout_of.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/plan/verify.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(plan_cyclic_cuts)

namespace {

bool has(axis_blocks const& side, index_t element) {
    return element >= side.begin && element < side.end &&
           (element - side.begin) % side.period < side.block;
}

axis_blocks drawn(oracle::random_numbers& random) {
    axis_blocks side{random.between(0, 40), 0};
    side.end = side.begin + random.between(0, 90);
    if (random.chance(70)) {
        side.block = random.between(1, 7);
        side.period = side.block * random.between(2, 4);
    }
    return side;
}

layout dealt(index_t n, index_t block, std::int64_t across) {
    return layout_of("w", data_type::f64, {n, n}, {{"row", 2}, {"column", across}},
                     {block_cyclic{0, block}, block_cyclic{1, block}});
}

std::size_t transfers(layout const& source, layout const& target) {
    mapping const program = identity_mapping(catalog_of(source));
    plan_problem const problem = problem_of(program, source, target);
    plan const plan = make_plan(problem);
    BOOST_TEST(!verify(plan, problem));
    return plan.transfers.size();
}

} // namespace

BOOST_AUTO_TEST_CASE(runs_have_each_common_element_once) {
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        oracle::random_numbers random(seed);
        axis_blocks const a = drawn(random), b = drawn(random);
        index_t const low = random.between(0, 30);
        axis_blocks const limits{low, low + random.between(0, 120)};
        std::vector<int> times(200, 0);
        for (axis_runs const& runs : common_runs(a, b, limits).found())
            for (index_t i = 0; i < runs.count * runs.length; ++i)
                ++times[static_cast<std::size_t>(runs.first + i / runs.length * runs.step +
                                                 i % runs.length)];
        for (index_t i = 0; i < 200; ++i)
            BOOST_TEST(times[static_cast<std::size_t>(i)] ==
                           (has(a, i) && has(b, i) && has(limits, i) ? 1 : 0),
                       "seed " << seed << ", element " << i);
    }
}

// Of each axis, every pair of ranks has one run that repeats.
BOOST_AUTO_TEST_CASE(a_plan_does_not_grow_with_the_number_of_blocks) {
    auto const rows = [](index_t n) {
        return layout_of("w", data_type::f64, {n, n}, {{"row", 4}}, {shard{0}});
    };
    for (index_t const n : {16, 64, 128}) {
        BOOST_TEST(transfers(dealt(n, 1, 2), rows(n)) == 16u);
        BOOST_TEST(transfers(rows(n), dealt(n, 1, 2)) == 16u);
        BOOST_TEST(transfers(dealt(n, 1, 2), dealt(n, 1, 2)) == 4u);
    }
    // Blocks of one and of two, dealt out to two: the period is four, with one element of each.
    BOOST_TEST(transfers(dealt(64, 1, 2), dealt(64, 2, 2)) == 16u);
}

BOOST_AUTO_TEST_SUITE_END()
