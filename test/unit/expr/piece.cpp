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

BOOST_AUTO_TEST_CASE(a_list_gives_its_pieces_back) {
    piece rounded = test::turned_box();
    rounded.casts = then({}, data_type::f32, data_type::bf16);
    piece_list list(2);
    list.push_back(test::turned_box());
    list.push_back(rounded);
    BOOST_TEST(list.size() == 2u);
    BOOST_TEST((list[0] == test::turned_box()));
    BOOST_TEST((list[1] == rounded));
    BOOST_TEST((list[0] != list[1]));
    BOOST_TEST(list.source(1) == 7u);
    BOOST_TEST((list.target_boxes()[1] == box{{10, 20}, {3, 2}}));
}

BOOST_AUTO_TEST_CASE(a_list_gives_pieces_with_joined_axes_back) {
    piece merged; // a matrix as one axis
    merged.order = permutation::identity(2);
    merged.source_offset = {0, 0};
    merged.target_offset = {4};
    merged.extent = {2, 3};
    merged.joins = {0, 0b10};
    piece plain;
    plain.order = permutation::identity(1);
    plain.source_offset = {7};
    plain.target_offset = {0};
    plain.extent = {4};
    piece_list list(1);
    list.push_back(plain);
    list.push_back(merged);
    BOOST_TEST((list[0] == plain));
    BOOST_TEST((list[1] == merged));
    BOOST_TEST((list.target_boxes()[1] == box{{4}, {6}}));
    piece_list twice(1);
    twice.append_moved(list, 0, 0);
    twice.append_moved(list, 0, 10);
    BOOST_TEST((twice[1] == merged));
    plain.target_offset = {10};
    merged.target_offset = {14};
    BOOST_TEST((twice[2] == plain));
    BOOST_TEST((twice[3] == merged));
    plain.target_offset = {0};
    merged.target_offset = {4};
    piece_list other(1);
    other.push_back(plain);
    merged.extent = {3, 2};
    other.push_back(merged);
    BOOST_TEST((list != other));
}

BOOST_AUTO_TEST_SUITE_END()
