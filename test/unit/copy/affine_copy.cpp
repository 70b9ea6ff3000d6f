// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/affine_copy.hpp>

#include "support.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(affine_copies)

BOOST_AUTO_TEST_CASE(a_whole_row_major_array_is_one_run) {
    affine_copy const copy{{2, 3, 4}, 5, {12, 4, 1}, 7, {12, 4, 1}};
    BOOST_TEST((fuse(copy) == affine_copy{{24}, 5, {1}, 7, {1}}));
}

BOOST_AUTO_TEST_CASE(axes_fuse_only_where_both_sides_continue) {
    affine_copy const column_block{{3, 4}, 0, {10, 1}, 0, {4, 1}};
    BOOST_TEST((fuse(column_block) == column_block));
    affine_copy const outer_continues{{2, 3, 4}, 0, {30, 10, 1}, 0, {12, 4, 1}};
    BOOST_TEST((fuse(outer_continues) == affine_copy{{6, 4}, 0, {10, 1}, 0, {4, 1}}));
}

BOOST_AUTO_TEST_CASE(extents_of_one_are_dropped_whatever_their_strides) {
    affine_copy const copy{{1, 4, 1}, 3, {99, 1, 7}, 2, {-5, 1, 0}};
    BOOST_TEST((fuse(copy) == affine_copy{{4}, 3, {1}, 2, {1}}));
}

BOOST_AUTO_TEST_CASE(the_fastest_axis_of_the_target_goes_innermost) {
    affine_copy const transposing{{3, 5}, 0, {5, 1}, 0, {1, 3}};
    BOOST_TEST((fuse(transposing) == affine_copy{{5, 3}, 0, {1, 5}, 0, {3, 1}}));
}

BOOST_AUTO_TEST_CASE(two_column_major_arrays_are_one_run_too) {
    BOOST_TEST((fuse({{3, 5}, 0, {1, 3}, 0, {1, 3}}) == affine_copy{{15}, 0, {1}, 0, {1}}));
}

BOOST_AUTO_TEST_CASE(a_target_that_is_walked_backwards_is_turned) {
    affine_copy const reversing{{4}, 0, {1}, 3, {-1}};
    BOOST_TEST((fuse(reversing) == affine_copy{{4}, 3, {-1}, 0, {1}}));
    affine_copy const both_backwards{{4}, 3, {-1}, 3, {-1}};
    BOOST_TEST((fuse(both_backwards) == affine_copy{{4}, 0, {1}, 0, {1}}));
}

BOOST_AUTO_TEST_CASE(a_scalar_has_no_axis_and_nothing_has_one_of_extent_zero) {
    BOOST_TEST((fuse({{}, 4, {}, 5, {}}) == affine_copy{{}, 4, {}, 5, {}}));
    BOOST_TEST(element_count(affine_copy{}) == 1);
    affine_copy const empty = fuse({{3, 0, 2}, 1, {0, 0, 0}, 2, {0, 0, 0}});
    BOOST_TEST((empty == affine_copy{{0}, 1, {1}, 2, {1}}));
    BOOST_TEST(element_count(empty) == 0);
}

BOOST_AUTO_TEST_CASE(a_repeated_source_element_stays_repeated) {
    BOOST_TEST((fuse({{2, 3}, 4, {0, 0}, 0, {3, 1}}) == affine_copy{{6}, 4, {0}, 0, {1}}));
}

BOOST_AUTO_TEST_CASE(fusing_keeps_every_pair_of_places) {
    std::mt19937 random(7);
    for (int round = 0; round < 400; ++round) {
        affine_copy const copy = test::random_copy(random, 5, 4);
        affine_copy const fused = fuse(copy);
        auto before = test::places(copy);
        auto after = test::places(fused);
        std::sort(before.begin(), before.end());
        std::sort(after.begin(), after.end());
        BOOST_TEST_REQUIRE((before == after));
        BOOST_TEST_REQUIRE((fuse(fused) == fused));
        for (std::size_t axis = 0; axis + 1 < fused.ndim(); ++axis)
            BOOST_TEST_REQUIRE(fused.target_strides[axis] > fused.target_strides[axis + 1]);
    }
}

BOOST_AUTO_TEST_SUITE_END()
