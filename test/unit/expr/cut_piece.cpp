// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/cut_piece.hpp>

#include "support/turned_box.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(expr_cut_piece)

namespace {

/// A matrix of 4 rows and 6 columns as one axis of 24.
piece merged_matrix() {
    piece part;
    part.stored = data_type::f32;
    part.order = permutation::identity(2);
    part.source_offset = {0, 0};
    part.target_offset = {0};
    part.extent = {4, 6};
    part.joins = {0, 0b10};
    return part;
}

/// The pairs of boxes, target and source, that a cut takes.
struct pair_of_boxes {
    box target, source;
    bool operator==(pair_of_boxes const&) const = default;
};

std::vector<pair_of_boxes> target_cuts(piece const& part, box const& region) {
    std::vector<pair_of_boxes> boxes;
    cut_to_target(part, region, [&](piece const& piece) {
        boxes.push_back({piece.target_box(), piece.source_box()});
    });
    return boxes;
}

std::vector<pair_of_boxes> source_cuts(piece const& part, box const& region) {
    std::vector<pair_of_boxes> boxes;
    cut_to_source(part, region, [&](piece const& piece) {
        boxes.push_back({piece.target_box(), piece.source_box()});
    });
    return boxes;
}

using pairs = std::vector<pair_of_boxes>;

} // namespace

BOOST_AUTO_TEST_CASE(a_part_of_the_target_is_a_part_of_the_source) {
    // Target rows 11 and 12, column 21: source columns 2 and 3 of row 3.
    piece const part = cut_to_target(test::turned_box(), {{11, 21}, {2, 1}});
    BOOST_TEST((part.source_offset == index_vector{3, 2}));
    BOOST_TEST((part.source_box() == box{{3, 2}, {1, 2}}));
    BOOST_TEST((part.target_box() == box{{11, 21}, {2, 1}}));
    BOOST_TEST((part.source == 7u && part.stored == data_type::f32));
}

BOOST_AUTO_TEST_CASE(a_part_of_the_source_is_a_part_of_the_target) {
    BOOST_TEST((target_box_of(test::turned_box(), {{3, 2}, {1, 2}}) == box{{11, 21}, {2, 1}}));
    BOOST_TEST((target_box_of(test::turned_box(), {{2, 1}, {2, 3}}) == box{{10, 20}, {3, 2}}));
}

BOOST_AUTO_TEST_CASE(a_part_of_three_axes_is_a_part_on_both_sides) {
    piece part;
    part.order = permutation::of({2, 0, 1}, 3); // target (i, j, k) is source (j, k, i)
    part.source_offset = {100, 200, 300};
    part.target_offset = {0, 0, 0};
    part.extent = {4, 5, 6};
    piece const piece = cut_to_target(part, {{1, 2, 3}, {1, 1, 1}});
    BOOST_TEST((piece.source_offset == index_vector{102, 203, 301}));
    BOOST_TEST((target_box_of(part, {{102, 203, 301}, {1, 1, 1}}) == box{{1, 2, 3}, {1, 1, 1}}));
}

BOOST_AUTO_TEST_CASE(without_joined_axes_a_cut_is_one_piece) {
    BOOST_TEST((target_cuts(test::turned_box(), {{11, 21}, {2, 1}}) ==
                pairs{{{{11, 21}, {2, 1}}, {{3, 2}, {1, 2}}}}));
    BOOST_TEST((source_cuts(test::turned_box(), {{3, 2}, {1, 2}}) ==
                pairs{{{{11, 21}, {2, 1}}, {{3, 2}, {1, 2}}}}));
}

BOOST_AUTO_TEST_CASE(whole_rows_of_a_merged_axis_are_one_piece) {
    BOOST_TEST(
        (target_cuts(merged_matrix(), {{6}, {12}}) == pairs{{{{6}, {12}}, {{1, 0}, {2, 6}}}}));
}

BOOST_AUTO_TEST_CASE(a_range_of_a_merged_axis_is_a_head_rows_and_a_tail) {
    BOOST_TEST(
        (target_cuts(merged_matrix(), {{4}, {16}}) == pairs{{{{4}, {2}}, {{0, 4}, {1, 2}}},
                                                            {{{6}, {12}}, {{1, 0}, {2, 6}}},
                                                            {{{18}, {2}}, {{3, 0}, {1, 2}}}}));
}

BOOST_AUTO_TEST_CASE(columns_of_what_is_merged_are_cut_row_by_row) {
    BOOST_TEST(
        (source_cuts(merged_matrix(), {{1, 2}, {3, 2}}) == pairs{{{{8}, {2}}, {{1, 2}, {1, 2}}},
                                                                 {{{14}, {2}}, {{2, 2}, {1, 2}}},
                                                                 {{{20}, {2}}, {{3, 2}, {1, 2}}}}));
}

BOOST_AUTO_TEST_CASE(a_part_of_one_row_has_no_joined_axes_left_but_its_row) {
    pairs found_pairs;
    cut_to_target(merged_matrix(), {{7}, {3}}, [&](piece const& piece) {
        found_pairs.push_back({piece.target_box(), piece.source_box()});
        BOOST_TEST((piece.extent == index_vector{1, 3})); // the row is an axis of the source
        BOOST_TEST((piece.joins == axis_joins{0, 0b10}));
    });
    BOOST_TEST((found_pairs == pairs{{{{7}, {3}}, {{1, 1}, {1, 3}}}}));
}

BOOST_AUTO_TEST_CASE(an_axis_that_is_split_gives_what_it_was_cut_out_of) {
    piece part; // one axis of 24 as 4 rows of 6
    part.order = permutation::identity(2);
    part.source_offset = {0};
    part.target_offset = {0, 0};
    part.extent = {4, 6};
    part.joins = {0b10, 0};
    BOOST_TEST((target_cuts(part, {{1, 0}, {2, 6}}) == pairs{{{{1, 0}, {2, 6}}, {{6}, {12}}}}));
    BOOST_TEST((target_cuts(part, {{1, 4}, {2, 2}}) ==
                pairs{{{{1, 4}, {1, 2}}, {{10}, {2}}}, {{{2, 4}, {1, 2}}, {{16}, {2}}}}));
    BOOST_TEST((source_cuts(part, {{5}, {2}}) ==
                pairs{{{{0, 5}, {1, 1}}, {{5}, {1}}}, {{{1, 0}, {1, 1}}, {{6}, {1}}}}));
}

BOOST_AUTO_TEST_CASE(merged_and_turned_axes_are_cut_into_single_elements_where_they_have_to) {
    piece part; // a matrix of 2 rows and 3 columns, transposed, then one axis
    part.order = permutation::reversed(2);
    part.source_offset = {0, 0};
    part.target_offset = {0};
    part.extent = {3, 2};
    part.joins = {0, 0b10};
    // element (i, j) of the source is at 2 j + i
    BOOST_TEST((target_cuts(part, {{1}, {3}}) ==
                pairs{{{{1}, {1}}, {{1, 0}, {1, 1}}}, {{{2}, {2}}, {{0, 1}, {2, 1}}}}));
    BOOST_TEST((source_cuts(part, {{1, 0}, {1, 3}}) == pairs{{{{1}, {1}}, {{1, 0}, {1, 1}}},
                                                             {{{3}, {1}}, {{1, 1}, {1, 1}}},
                                                             {{{5}, {1}}, {{1, 2}, {1, 1}}}}));
}

BOOST_AUTO_TEST_CASE(a_cut_into_millions_of_pieces_is_refused) {
    piece part = merged_matrix();
    part.extent = {index_t{1} << 23, 2};
    try {
        cut_to_source(part, {{0, 0}, {index_t{1} << 23, 1}}, [](piece const&) {});
        BOOST_TEST(false);
    } catch (error const& problem) {
        BOOST_TEST((problem.code() == errc::limit_exceeded));
        BOOST_TEST(std::string(problem.what()).find("cut the tensor along an outer axis") !=
                   std::string::npos);
    }
}

BOOST_AUTO_TEST_SUITE_END()
