// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/cast.hpp>

#include "support/says.hpp"

#include <reshard/expr/concat.hpp>
#include <reshard/expr/slice.hpp>

#include <limits>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(expr_cast)

namespace {

using types = std::vector<data_type>;

types steps(expression const& tensor, std::size_t piece = 0) {
    types list;
    for (chain_step const& step : tensor.pieces[piece].steps.steps())
        list.push_back(step.dtype);
    return list;
}

auto has(errc code) {
    return [code](error const& problem) { return problem.code() == code; };
}

expression const w = source_tensor(0, {4}, data_type::f32);

} // namespace

BOOST_AUTO_TEST_CASE(a_cast_changes_the_type_and_remembers_the_step) {
    expression const narrow = cast(w, data_type::bf16);
    BOOST_TEST((narrow.dtype == data_type::bf16));
    BOOST_TEST((narrow.shape == index_vector{4}));
    BOOST_TEST((steps(narrow) == types{data_type::bf16}));
    BOOST_TEST((narrow.pieces[0].stored == data_type::f32));
    BOOST_TEST(!is_source_box(narrow));
}

BOOST_AUTO_TEST_CASE(a_rounding_that_is_widened_again_is_kept) {
    expression const rounded = cast(cast(w, data_type::bf16), data_type::f32);
    BOOST_TEST((rounded.dtype == data_type::f32));
    BOOST_TEST((steps(rounded) == types{data_type::bf16, data_type::f32}));
}

BOOST_AUTO_TEST_CASE(a_widening_that_is_taken_back_is_no_step) {
    BOOST_TEST((cast(cast(w, data_type::f64), data_type::f32) == w));
    BOOST_TEST((cast(w, data_type::f32) == w));
    BOOST_TEST((steps(cast(cast(w, data_type::f64), data_type::f16)) == types{data_type::f16}));
}

BOOST_AUTO_TEST_CASE(each_piece_keeps_the_type_in_which_it_is_stored) {
    expression const narrow = source_tensor(1, {2}, data_type::bf16);
    expression const both = concat({w, cast(narrow, data_type::f32)}, 0);
    expression const back = cast(both, data_type::bf16);
    BOOST_TEST((steps(back, 0) == types{data_type::bf16}));
    BOOST_TEST((steps(back, 1) == types{}));
}

BOOST_AUTO_TEST_CASE(a_tensor_without_elements_has_a_type) {
    BOOST_TEST((cast(source_tensor(0, {0}, data_type::f32), data_type::i8).dtype == data_type::i8));
}

BOOST_AUTO_TEST_CASE(complex_numbers_do_not_become_real) {
    expression const c = source_tensor(0, {4}, data_type::c64);
    BOOST_CHECK_EXCEPTION(cast(c, data_type::f32), error,
                          says(errc::dtype_mismatch,
                               "elements of type complex64 cannot be cast to float32: a real "
                               "number cannot hold an imaginary part"));
    BOOST_TEST((cast(c, data_type::c64) == c));
}

BOOST_AUTO_TEST_CASE(too_many_roundings_are_refused) {
    // Neither holds the other, so nothing can be dropped.
    expression value = w;
    for (int i = 0; i < 15; ++i)
        value = cast(value, i % 2 ? data_type::bf16 : data_type::f16);
    BOOST_CHECK_EXCEPTION(
        cast(value, data_type::bf16), error,
        says(errc::limit_exceeded, "a tensor is cast more than 15 times in a row"));
}

BOOST_AUTO_TEST_CASE(products_and_sums_are_steps_of_each_piece) {
    expression const half = source_tensor(1, {2}, data_type::bf16);
    expression const sum = shifted(scaled(half, .5, data_type::f32), 1, data_type::bf16);
    BOOST_TEST((sum.dtype == data_type::bf16));
    BOOST_TEST((sum.shape == half.shape));
    chain_steps const list = sum.pieces[0].steps.steps();
    BOOST_TEST_REQUIRE(list.size() == 2u);
    BOOST_TEST((list[0] == chain_step{data_type::f32, chain_step::operation::multiply, .5}));
    BOOST_TEST((list[1] == chain_step{data_type::bf16, chain_step::operation::add, 1}));
    BOOST_TEST(!is_source_box(sum));
    expression const both = shifted(concat({half, cast(w, data_type::bf16)}, 0), 1);
    BOOST_TEST((steps(both, 0) == types{data_type::bf16}));
    BOOST_TEST((steps(both, 1) == types{data_type::bf16, data_type::bf16}));
}

BOOST_AUTO_TEST_CASE(zeros_stay_zeros_in_a_product_and_have_no_sum) {
    expression const longer = resize(w, {6});
    BOOST_TEST((scaled(longer, 2).pieces[1].steps == step_chain{}));
    BOOST_TEST((scaled(zeros({2}, data_type::f32), 2) == zeros({2}, data_type::f32)));
    for (double const factor : {-1., -0.})
        BOOST_CHECK_EXCEPTION(scaled(longer, factor), error, has(errc::unsupported));
    BOOST_CHECK_EXCEPTION(shifted(longer, 1), error,
                          says(errc::unsupported,
                               "it has zeros without a source, which arithmetic would change; "
                               "compute before the statement that appends them"));
}

BOOST_AUTO_TEST_CASE(only_floating_point_numbers_are_computed) {
    BOOST_CHECK_EXCEPTION(
        shifted(source_tensor(0, {4}, data_type::i32), 1), error,
        says(errc::dtype_mismatch,
             "it is int32, but arithmetic needs floating-point numbers; cast it first"));
    BOOST_CHECK_EXCEPTION(scaled(source_tensor(0, {4}, data_type::c64), 2), error,
                          has(errc::dtype_mismatch));
    BOOST_CHECK_EXCEPTION(scaled(w, 2, data_type::i8), error, has(errc::dtype_mismatch));
}

BOOST_AUTO_TEST_CASE(a_constant_that_the_computation_cannot_hold_is_refused) {
    double const infinity = std::numeric_limits<double>::infinity();
    for (double const number :
         {infinity, -infinity, 1e39, infinity - infinity, 1e-60, -1e-60, 0x1p-150})
        BOOST_CHECK_EXCEPTION(scaled(w, number), error, has(errc::overflow));
    BOOST_TEST((scaled(source_tensor(0, {4}, data_type::f64), 1e39).dtype == data_type::f64));
    for (double const number : {3.4028235e38, 1e-45, 1e-40})
        BOOST_TEST((scaled(w, number).dtype == data_type::f32));
    BOOST_CHECK_EXCEPTION(
        shifted(w, 1e39), error,
        says(errc::overflow, "it is computed in float32, which does not have the number 1e+39"));
}

BOOST_AUTO_TEST_SUITE_END()
