// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/model/tensor_cut.hpp>

#include "support/says.hpp"

using namespace reshard;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_tensor_cut)

BOOST_AUTO_TEST_CASE(columns_are_outputs_in_either_order) {
    BOOST_TEST(column_parallel().axis == 0);
    BOOST_TEST(column_parallel(weight_order::in_out).axis == 1);
    BOOST_TEST(column_parallel_bias().axis == 0);
    BOOST_TEST(row_parallel().axis == 1);
    BOOST_TEST(row_parallel(weight_order::in_out).axis == 0);
    BOOST_TEST((replicated().type == tensor_cut::kind::none));
}

BOOST_AUTO_TEST_CASE(a_head_is_cut_along_the_vocabulary) {
    BOOST_TEST(head_parallel({.transposed = true, .tied = true}).axis == 0);
    BOOST_TEST(head_parallel({.transposed = true, .tied = false}).axis == 0);
    BOOST_TEST(head_parallel({.transposed = false, .tied = true}).axis == 0);
    BOOST_TEST(head_parallel({.transposed = false, .tied = false}).axis == 1);
}

BOOST_AUTO_TEST_CASE(a_vocabulary_is_padded_to_a_multiple_for_each_rank) {
    BOOST_TEST(padded_vocabulary(50257, 128, 1) == 50304);
    BOOST_TEST(padded_vocabulary(50257, 128, 8) == 51200);
    BOOST_TEST(padded_vocabulary(128256, 128, 2) == 128256);
    BOOST_TEST(padded_vocabulary(0, 128, 2) == 0);
    BOOST_CHECK_EXCEPTION(
        padded_vocabulary(10, 0, 2), error,
        test::says(errc::bad_layout, "a vocabulary cannot be padded to a multiple of 0 for tp=2"));
}

BOOST_AUTO_TEST_SUITE_END()
