// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/pattern.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(plan_pattern)

BOOST_AUTO_TEST_CASE(a_cut_has_a_box_on_both_sides) {
    // 3 x 5 elements of the target, turned by 90 degrees.
    cut const geometry{permutation::reversed(2), {10, 20}, {1, 2}, {3, 5}};
    BOOST_TEST((geometry.target_box() == box{{1, 2}, {3, 5}}));
    BOOST_TEST((geometry.source_box() == box{{10, 20}, {5, 3}}));
}

BOOST_AUTO_TEST_CASE(a_pattern_gives_its_cuts_back) {
    cut const first{permutation::identity(1), {4}, {0}, {2}};
    cut const second{permutation::identity(1), {9}, {2}, {1}};
    pattern both(1);
    both.push_back(first);
    both.push_back(second);
    BOOST_TEST(both.size() == 2u);
    BOOST_TEST((both[0] == first));
    BOOST_TEST((both[1] == second));
}

BOOST_AUTO_TEST_SUITE_END()
