// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/permute.hpp>

#include "support/evaluate.hpp"
#include "support/says.hpp"

#include <reshard/expr/concat.hpp>
#include <reshard/expr/split.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::evaluate;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(expr_permute)

namespace {

using numbers = std::vector<index_t>;

numbers up_to(index_t count) {
    numbers result;
    for (index_t i = 0; i < count; ++i)
        result.push_back(i);
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_matrix_is_transposed) {
    expression const t = transpose(source_tensor(0, {2, 3}, data_type::f32));
    BOOST_TEST((t.shape == index_vector{3, 2}));
    BOOST_TEST((evaluate(t, {{2, 3}}, {up_to(6)}) == numbers{0, 3, 1, 4, 2, 5}));
}

BOOST_AUTO_TEST_CASE(axis_j_of_the_result_is_axis_order_j) {
    // numpy.arange(24).reshape(2, 3, 4).transpose(2, 0, 1), rows 0 and 3 of the first axis.
    expression const t = permute(source_tensor(0, {2, 3, 4}, data_type::f32), {2, 0, 1});
    BOOST_TEST((t.shape == index_vector{4, 2, 3}));
    numbers const all_numbers = evaluate(t, {{2, 3, 4}}, {up_to(24)});
    BOOST_TEST(
        (numbers(all_numbers.begin(), all_numbers.begin() + 6) == numbers{0, 4, 8, 12, 16, 20}));
    BOOST_TEST(
        (numbers(all_numbers.end() - 6, all_numbers.end()) == numbers{3, 7, 11, 15, 19, 23}));
}

BOOST_AUTO_TEST_CASE(an_order_and_its_inverse_cancel) {
    expression const w = source_tensor(0, {2, 3, 4}, data_type::f32);
    BOOST_TEST((permute(permute(w, {2, 0, 1}), {1, 2, 0}) == w));
    BOOST_TEST((transpose(transpose(w)) == w));
    BOOST_TEST((permute(w, {0, 1, 2}) == w));
}

BOOST_AUTO_TEST_CASE(a_square_matrix_is_transposed_too) {
    expression const t = transpose(source_tensor(0, {2, 2}, data_type::f32));
    BOOST_TEST(!is_source_box(t));
    BOOST_TEST((evaluate(t, {{2, 2}}, {up_to(4)}) == numbers{0, 2, 1, 3}));
}

BOOST_AUTO_TEST_CASE(pieces_turn_with_their_tensor) {
    expression const both = concat(
        {source_tensor(0, {1, 2}, data_type::f32), source_tensor(1, {2, 2}, data_type::f32)}, 0);
    expression const t = transpose(both); // 2 x 3
    BOOST_TEST((evaluate(t, {{1, 2}, {2, 2}}, {{1, 2}, {10, 11, 12, 13}}) ==
                numbers{1, 10, 12, 2, 11, 13}));
    auto const parts = split(t, 1, 3);
    BOOST_TEST(
        (evaluate(parts[2], {{1, 2}, {2, 2}}, {{1, 2}, {10, 11, 12, 13}}) == numbers{12, 13}));
    // Splitting along the old axis and turning back gives the operand.
    BOOST_TEST((evaluate(transpose(parts[0]), {{1, 2}, {2, 2}}, {{1, 2}, {10, 11, 12, 13}}) ==
                numbers{1, 2}));
}

BOOST_AUTO_TEST_CASE(scalars_and_vectors_stay_what_they_are) {
    expression const s = source_tensor(0, {}, data_type::f32);
    BOOST_TEST((transpose(s) == s));
    expression const v = source_tensor(0, {5}, data_type::f32);
    BOOST_TEST((transpose(v) == v));
}

BOOST_AUTO_TEST_CASE(a_zero_extent_moves_with_its_axis) {
    BOOST_TEST((transpose(source_tensor(0, {0, 3}, data_type::f32)).shape == index_vector{3, 0}));
}

BOOST_AUTO_TEST_CASE(orders_that_are_none_are_refused) {
    expression const w = source_tensor(0, {2, 3}, data_type::f32);
    for (index_vector const& axes : {index_vector{0, 0}, {0}, {0, 2}, {-1, 0}, {0, 1, 2}, {}})
        BOOST_CHECK_EXCEPTION(permute(w, axes), error,
                              says(errc::shape_mismatch, "the permutation " + to_string(axes) +
                                                             " does not name each of the 2 axes "
                                                             "once"));
}

BOOST_AUTO_TEST_SUITE_END()
