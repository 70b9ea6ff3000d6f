// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/reshape.hpp>

#include <reshard/expr/algebra.hpp>

#include "support/evaluate.hpp"

#include <boost/test/unit_test.hpp>

#include <numeric>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(expr_reshape)

namespace {

expression source_of(index_vector const& shape) { return source_tensor(0, shape, data_type::f32); }

/// The elements of an expression of one source whose elements are their row-major numbers.
std::vector<index_t> elements_of(expression const& value, index_vector const& source) {
    std::vector<index_t> values(static_cast<std::size_t>(element_count(source)));
    std::iota(values.begin(), values.end(), 0);
    return test::evaluate(value, {source}, {values});
}

std::vector<index_t> counted(index_t count) {
    std::vector<index_t> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 0);
    return values;
}

} // namespace

BOOST_AUTO_TEST_CASE(merging_and_splitting_axes_keeps_one_piece) {
    for (index_vector const& shape :
         {index_vector{24}, {6, 4}, {2, 12}, {2, 3, 4}, {2, 3, 2, 2}, {1, 24}, {24, 1}}) {
        expression const value = reshape(source_of({2, 3, 4}), shape);
        BOOST_TEST((value.shape == shape));
        BOOST_TEST(value.pieces.size() == 1u, to_string(shape));
        BOOST_TEST(elements_of(value, {2, 3, 4}) == counted(24), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_shape_that_is_had_already_changes_nothing) {
    BOOST_TEST((reshape(source_of({2, 3}), {2, 3}) == source_of({2, 3})));
    BOOST_TEST((reshape(reshape(source_of({2, 3}), {6}), {2, 3}) == source_of({2, 3})));
    BOOST_TEST((reshape(source_of({}), {}) == source_of({})));
}

BOOST_AUTO_TEST_CASE(a_scalar_becomes_axes_of_one_element_and_back) {
    expression const matrix = reshape(source_of({}), {1, 1});
    BOOST_TEST((matrix.shape == index_vector{1, 1}));
    BOOST_TEST(elements_of(matrix, {}) == counted(1), boost::test_tools::per_element());
    BOOST_TEST((reshape(matrix, {}) == source_of({})));
    BOOST_TEST(elements_of(reshape(source_of({1, 1}), {}), {1, 1}) == counted(1),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(extents_that_do_not_divide_are_cut_where_either_ends) {
    expression const value = reshape(source_of({2, 3}), {3, 2});
    // 0 1 | 2 | 3 | 4 5
    BOOST_TEST(value.pieces.size() == 4u);
    BOOST_TEST(elements_of(value, {2, 3}) == counted(6), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_transposed_matrix_is_read_in_its_new_order) {
    // 0 1 2 / 3 4 5 transposed is 0 3 / 1 4 / 2 5
    expression const value = reshape(transpose(source_of({2, 3})), {6});
    BOOST_TEST(value.pieces.size() == 1u);
    BOOST_TEST(elements_of(value, {2, 3}) == (std::vector<index_t>{0, 3, 1, 4, 2, 5}),
               boost::test_tools::per_element());
    expression const turned = permute(reshape(value, {3, 2, 1}), index_vector{1, 2, 0});
    BOOST_TEST((turned.shape == index_vector{2, 1, 3}));
    BOOST_TEST(elements_of(turned, {2, 3}) == counted(6), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(merged_axes_may_be_turned_split_and_joined) {
    // rows of 6: 0..5, 6..11, as [2, 2, 3]; merged to [2, 6] and transposed to [6, 2]
    expression const turned = transpose(reshape(source_of({2, 2, 3}), {2, 6}));
    BOOST_TEST(elements_of(turned, {2, 2, 3}) ==
                   (std::vector<index_t>{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11}),
               boost::test_tools::per_element());
    std::vector<index_t> const sizes{2, 4};
    auto const parts = split(turned, 0, sizes);
    BOOST_TEST(elements_of(concat({parts[1], parts[0]}, 0), {2, 2, 3}) ==
                   (std::vector<index_t>{2, 8, 3, 9, 4, 10, 5, 11, 0, 6, 1, 7}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_was_joined_along_an_inner_axis_is_merged_row_by_row) {
    expression const left = source_of({2, 2});
    expression const joined = concat({left, left}, 1); // 0 1 0 1 / 2 3 2 3
    expression const flat = reshape(joined, {8});
    BOOST_TEST(flat.pieces.size() == 4u);
    BOOST_TEST(elements_of(flat, {2, 2}) == (std::vector<index_t>{0, 1, 0, 1, 2, 3, 2, 3}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_tensor_without_elements_takes_any_shape_without_elements) {
    expression const value = reshape(source_of({0, 3}), {5, 0, 2});
    BOOST_TEST((value.shape == index_vector{5, 0, 2}));
    BOOST_TEST(value.pieces.size() == 0u);
}

BOOST_AUTO_TEST_CASE(another_number_of_elements_is_refused_with_both) {
    try {
        reshape(source_of({2, 3}), {4, 2});
        BOOST_TEST(false);
    } catch (error const& problem) {
        BOOST_TEST((problem.code() == errc::shape_mismatch));
        BOOST_TEST(problem.what() ==
                   std::string("the shape [2, 3] has 6 elements, but [4, 2] has 8"));
    }
}

BOOST_AUTO_TEST_CASE(a_tensor_without_axes_may_keep_its_shape) {
    expression const expression = reshape(source_of({1}), {});
    BOOST_TEST((reshape(expression, {}) == expression));
    BOOST_TEST((reshape(reshape(expression, {}), {1, 1}).shape == index_vector{1, 1}));
}

BOOST_AUTO_TEST_CASE(casts_and_zeros_are_kept) {
    expression const value = reshape(cast(source_of({4}), data_type::bf16), {2, 2});
    BOOST_TEST((value.dtype == data_type::bf16));
    BOOST_TEST(!value.pieces[0].steps.empty());
    expression const nothing = reshape(zeros({4}, data_type::f32), {2, 2});
    BOOST_TEST(nothing.pieces.source(0) == zero_source);
    BOOST_TEST((nothing.pieces[0].target_box() == box{{0, 0}, {2, 2}}));
}

BOOST_AUTO_TEST_SUITE_END()
