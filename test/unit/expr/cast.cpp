// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/cast.hpp>

#include "support/says.hpp"

#include <reshard/expr/concat.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(expr_cast)

namespace {

using types = std::vector<data_type>;

types steps(expression const& tensor, std::size_t piece = 0) {
    auto const chain = tensor.pieces[piece].casts;
    return {chain.steps().begin(), chain.steps().end()};
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

BOOST_AUTO_TEST_SUITE_END()
