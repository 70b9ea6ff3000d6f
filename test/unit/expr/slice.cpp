// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/slice.hpp>

#include "support/evaluate.hpp"
#include "support/says.hpp"

#include <reshard/expr/concat.hpp>
#include <reshard/expr/permute.hpp>
#include <reshard/expr/reshape.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::evaluate;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(expr_slice)

namespace {

using numbers = std::vector<index_t>;

expression const w = source_tensor(0, {3, 4}, data_type::f32);

/// Elements of a 3 x 4 source whose element is its row-major number.
numbers of(expression const& value) {
    return evaluate(value, {{3, 4}}, {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}});
}

} // namespace

BOOST_AUTO_TEST_CASE(a_slice_is_a_box_of_the_tensor) {
    expression const box_of = slice(w, {{1, 3}, {0, 2}});
    BOOST_TEST((box_of.shape == index_vector{2, 2}));
    BOOST_TEST((box_of.dtype == data_type::f32));
    BOOST_TEST((of(box_of) == numbers{4, 5, 8, 9}));
    BOOST_TEST(is_source_box(box_of));
}

BOOST_AUTO_TEST_CASE(without_bounds_an_axis_is_whole) {
    BOOST_TEST((slice(w, {{}, {}}) == w));
    BOOST_TEST((of(slice(w, {{2}, {}})) == numbers{8, 9, 10, 11}));
    BOOST_TEST((of(slice(w, {{}, {0, 1}})) == numbers{0, 4, 8}));
    expression const scalar = source_tensor(0, {}, data_type::f32);
    BOOST_TEST((slice(scalar, {}) == scalar));
}

BOOST_AUTO_TEST_CASE(a_slice_of_several_pieces_cuts_each) {
    // Rows 0 1 2, 4 5 6, 8 9 10 of w above the rows 0 4 8, 1 5 9, 2 6 10, 3 7 11 of its transpose.
    expression const both = concat({slice(w, {{}, {0, 3}}), transpose(w)}, 0);
    expression const middle = slice(both, {{2, 5}, {1, 3}});
    BOOST_TEST((of(middle) == numbers{9, 10, 4, 8, 5, 9}));
    BOOST_TEST(middle.pieces.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_slice_of_a_slice_counts_from_its_own_beginning) {
    BOOST_TEST((of(slice(slice(w, {{1}, {1}}), {{1}, {0, 2}})) == numbers{9, 10}));
}

BOOST_AUTO_TEST_CASE(a_slice_of_merged_axes_is_as_many_boxes_as_it_takes) {
    // All twelve in a row: 2 3 of the first, 4 5 6 7, and 8 of the last row.
    BOOST_TEST((of(slice(reshape(w, {12}), {{2, 9}})) == numbers{2, 3, 4, 5, 6, 7, 8}));
    BOOST_TEST((of(slice(reshape(w, {2, 6}), {{1}, {1, 4}})) == numbers{7, 8, 9}));
}

BOOST_AUTO_TEST_CASE(a_range_may_be_empty) {
    expression const none = slice(w, {{1, 1}, {}});
    BOOST_TEST((none.shape == index_vector{0, 4}));
    BOOST_TEST(none.pieces.size() == 0u);
    BOOST_TEST((slice(w, {{3}, {4, 4}}).shape == index_vector{0, 0}));
}

BOOST_AUTO_TEST_CASE(a_slice_of_zeros_is_zeros) {
    expression const part = slice(zeros({2, 6}, data_type::f32), {{1}, {2, 4}});
    BOOST_TEST((of(part) == numbers{0, 0}));
}

BOOST_AUTO_TEST_CASE(ranges_that_leave_the_axis_are_refused) {
    BOOST_CHECK_EXCEPTION(
        slice(w, {{}, {2, 5}}), error,
        says(errc::shape_mismatch,
             "axis 1 has the extent 4, but 2:5 is not a range within it; bounds count "
             "from 0, and the lower one comes first"));
    BOOST_CHECK_EXCEPTION(
        slice(w, {{-1}, {}}), error,
        says(errc::shape_mismatch,
             "axis 0 has the extent 3, but -1: is not a range within it; bounds count "
             "from 0, and the lower one comes first"));
    BOOST_CHECK_EXCEPTION(
        slice(w, {{2, 1}, {}}), error,
        says(errc::shape_mismatch,
             "axis 0 has the extent 3, but 2:1 is not a range within it; bounds count "
             "from 0, and the lower one comes first"));
    BOOST_CHECK_EXCEPTION(slice(w, {{4}, {}}), error,
                          says(errc::shape_mismatch,
                               "axis 0 has the extent 3, but 4: is not a range within it; bounds "
                               "count from 0, and the lower one comes first"));
    BOOST_CHECK_THROW(slice(w, {{0, -1}, {}}), error);
}

BOOST_AUTO_TEST_CASE(each_axis_needs_a_range) {
    BOOST_CHECK_EXCEPTION(
        slice(w, {{0, 2}}), error,
        says(errc::shape_mismatch,
             "the number of ranges is 1, but the shape [3, 4] has 2 axes; give one range for each "
             "axis"));
    BOOST_CHECK_THROW(slice(w, {{}, {}, {}}), error);
}

BOOST_AUTO_TEST_SUITE_END()
