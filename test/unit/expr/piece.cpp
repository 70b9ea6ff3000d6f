// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/piece.hpp>

#include "support/turned_box.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(expr_piece)

BOOST_AUTO_TEST_CASE(both_boxes_have_the_axes_of_their_side) {
    BOOST_TEST((test::turned_box().target_box() == box{{10, 20}, {3, 2}}));
    BOOST_TEST((test::turned_box().source_box() == box{{2, 1}, {2, 3}}));
}

BOOST_AUTO_TEST_CASE(three_axes_turn_as_their_order_says) {
    piece part;
    part.order = permutation::of({2, 0, 1}, 3); // target (i, j, k) is source (j, k, i)
    part.source_offset = {100, 200, 300};
    part.target_offset = {0, 0, 0};
    part.extent = {4, 5, 6};
    BOOST_TEST((part.source_box() == box{{100, 200, 300}, {5, 6, 4}}));
}

BOOST_AUTO_TEST_CASE(joined_factors_are_one_axis) {
    // a source of 3 axes whose last two are one axis of the target, after a turn
    piece part;
    part.order = permutation::of({1, 2, 0}, 3);
    part.source_offset = {5, 0, 0};
    part.target_offset = {12, 1};
    part.extent = {2, 6, 4};
    part.joins = {0, 0b010};
    BOOST_TEST((part.target_box() == box{{12, 1}, {12, 4}}));
    BOOST_TEST((part.source_box() == box{{5, 0, 0}, {4, 2, 6}}));
}

BOOST_AUTO_TEST_SUITE_END()
