// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/piece_list.hpp>

#include "support/turned_box.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(expr_piece_list)

namespace {

/// All of source `source`, an m x n matrix, at column `index` of a target.
piece matrix_at(key_id source, index_t index) {
    piece part;
    part.source = source;
    part.stored = data_type::bf16;
    part.order = permutation::identity(2);
    part.source_offset = {0, 0};
    part.target_offset = {0, index};
    part.extent = {3, 2};
    return part;
}

/// A chain of roundings that is as long as asked for: to and fro, each a loss.
step_chain long_chain(std::size_t steps) {
    step_chain chain;
    for (std::size_t i = 0; i < steps; ++i)
        chain = then(chain, data_type::f32, i % 2 == 0 ? data_type::bf16 : data_type::f16);
    return chain;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_list_gives_its_pieces_back) {
    piece rounded = test::turned_box();
    rounded.steps = then({}, data_type::f32, data_type::bf16);
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
    piece_list pieces(1);
    pieces.push_back(plain);
    merged.extent = {3, 2};
    pieces.push_back(merged);
    BOOST_TEST((list != pieces));
}

BOOST_AUTO_TEST_CASE(a_whole_matrix_takes_no_memory) {
    piece_list list(2);
    list.push_back(matrix_at(4, 0));
    BOOST_TEST((list[0] == matrix_at(4, 0)));
    BOOST_TEST((list.target_box(0) == box{{0, 0}, {3, 2}}));
    BOOST_TEST(list.target_offset(0, 1) == 0);
    BOOST_TEST(list.target_end(0, 1) == 2);
    BOOST_TEST(list.bytes() == 0u);
}

BOOST_AUTO_TEST_CASE(the_list_of_a_whole_tensor_has_its_one_piece) {
    piece_list list(2);
    list.push_back(matrix_at(4, 0));
    BOOST_TEST((piece_list::whole_of(4, {3, 2}, data_type::bf16) == list));
    piece_list const conv = piece_list::whole_of(9, {2, 3, 4, 5}, data_type::f16);
    BOOST_TEST_REQUIRE(conv.size() == 1u);
    BOOST_TEST(conv.source(0) == 9u);
    BOOST_TEST((conv[0].order == permutation::identity(4)));
    BOOST_TEST((conv[0].source_box() == box{{0, 0, 0, 0}, {2, 3, 4, 5}}));
}

BOOST_AUTO_TEST_CASE(whole_matrices_side_by_side_keep_their_places) {
    piece_list pieces(2), joined(2), reserved(2);
    pieces.push_back(matrix_at(1, 0));
    reserved.reserve(3);
    for (index_t const index : {0, 2, 4}) {
        joined.append_moved(pieces, 1, index);
        reserved.append_moved(pieces, 1, index);
    }
    BOOST_TEST_REQUIRE(joined.size() == 3u);
    BOOST_TEST((joined[0] == matrix_at(1, 0)));
    BOOST_TEST((joined[2] == matrix_at(1, 4)));
    BOOST_TEST(joined.target_offset(2, 1) == 4);
    BOOST_TEST(joined.target_end(2, 1) == 6);
    BOOST_TEST((joined == reserved));
    piece_list twice = joined;
    twice.append_moved(joined, 1, 6);
    BOOST_TEST((twice[5] == matrix_at(1, 10)));
}

BOOST_AUTO_TEST_CASE(equal_lists_are_equal_however_they_were_made) {
    piece_list pieces(2), roomy(2), moved(2);
    pieces.push_back(matrix_at(1, 0));
    roomy.reserve(10);
    roomy.push_back(matrix_at(1, 0));
    moved.append_moved(pieces, 1, 7);
    BOOST_TEST((pieces == roomy));
    BOOST_TEST((roomy == pieces));
    BOOST_TEST((pieces != moved));
    BOOST_TEST((moved[0] == matrix_at(1, 7)));
    BOOST_TEST((pieces != piece_list(2)));
    BOOST_TEST((piece_list(1) != piece_list(2)));
}

BOOST_AUTO_TEST_CASE(chains_of_casts_come_back_whatever_their_length) {
    piece_list list(2);
    for (std::size_t steps = 0; steps <= 15; ++steps) {
        piece rounded = matrix_at(1, static_cast<index_t>(2 * steps));
        rounded.steps = long_chain(steps);
        BOOST_TEST_REQUIRE(rounded.steps.steps().size() == steps);
        list.push_back(rounded);
    }
    for (std::size_t steps = 0; steps <= 15; ++steps) {
        BOOST_TEST((list[steps].steps == long_chain(steps)));
        BOOST_TEST((list[steps].source_offset == index_vector{0, 0}));
        BOOST_TEST(list.target_offset(steps, 1) == static_cast<index_t>(2 * steps));
    }
}

BOOST_AUTO_TEST_CASE(a_piece_of_a_scalar_has_no_axes) {
    piece part;
    part.source = 3;
    part.stored = data_type::i64;
    piece_list list(0);
    list.push_back(part);
    BOOST_TEST((list[0] == part));
    BOOST_TEST(list.bytes() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
