// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/piece.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(expr_piece)

namespace {

/// Rows 2 and 3 and columns 1 to 3 of a source, transposed, at (10, 20) of a target.
piece transposed() {
    piece part;
    part.source = 7;
    part.stored = data_type::f32;
    part.order = permutation::reversed(2);
    part.source_offset = {2, 1};
    part.target_offset = {10, 20};
    part.extent = {3, 2};
    return part;
}

} // namespace

BOOST_AUTO_TEST_CASE(both_boxes_have_the_axes_of_their_side) {
    BOOST_TEST((transposed().target_box() == box{{10, 20}, {3, 2}}));
    BOOST_TEST((transposed().source_box() == box{{2, 1}, {2, 3}}));
}

BOOST_AUTO_TEST_CASE(a_part_of_the_target_is_a_part_of_the_source) {
    // Target rows 11 and 12, column 21: source columns 2 and 3 of row 3.
    piece const part = cut_to_target(transposed(), {{11, 21}, {2, 1}});
    BOOST_TEST((part.source_offset == index_vector{3, 2}));
    BOOST_TEST((part.source_box() == box{{3, 2}, {1, 2}}));
    BOOST_TEST((part.target_box() == box{{11, 21}, {2, 1}}));
    BOOST_TEST((part.source == 7u && part.stored == data_type::f32));
}

BOOST_AUTO_TEST_CASE(a_part_of_the_source_is_a_part_of_the_target) {
    BOOST_TEST((target_box_of(transposed(), {{3, 2}, {1, 2}}) == box{{11, 21}, {2, 1}}));
    BOOST_TEST((target_box_of(transposed(), {{2, 1}, {2, 3}}) == box{{10, 20}, {3, 2}}));
}

BOOST_AUTO_TEST_CASE(three_axes_turn_as_their_order_says) {
    piece part;
    part.order = permutation::of({2, 0, 1}, 3); // target (i, j, k) is source (j, k, i)
    part.source_offset = {100, 200, 300};
    part.target_offset = {0, 0, 0};
    part.extent = {4, 5, 6};
    BOOST_TEST((part.source_box() == box{{100, 200, 300}, {5, 6, 4}}));
    piece const one = cut_to_target(part, {{1, 2, 3}, {1, 1, 1}});
    BOOST_TEST((one.source_offset == index_vector{102, 203, 301}));
    BOOST_TEST((target_box_of(part, {{102, 203, 301}, {1, 1, 1}}) == box{{1, 2, 3}, {1, 1, 1}}));
}

BOOST_AUTO_TEST_CASE(a_list_gives_its_pieces_back) {
    piece rounded = transposed();
    rounded.casts = then({}, data_type::f32, data_type::bf16);
    piece_list list(2);
    list.push_back(transposed());
    list.push_back(rounded);
    BOOST_TEST(list.size() == 2u);
    BOOST_TEST((list[0] == transposed()));
    BOOST_TEST((list[1] == rounded));
    BOOST_TEST((list[0] != list[1]));
    BOOST_TEST(list.source(1) == 7u);
    BOOST_TEST((list.target_boxes()[1] == box{{10, 20}, {3, 2}}));
}

BOOST_AUTO_TEST_SUITE_END()
