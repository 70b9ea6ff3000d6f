// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/index_vector.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(strides)

BOOST_AUTO_TEST_CASE(the_last_axis_runs_fastest_in_row_major_order) {
    BOOST_TEST((row_major_strides({2, 3, 4}) == index_vector{12, 4, 1}));
    BOOST_TEST((row_major_strides({5}) == index_vector{1}));
    BOOST_TEST((row_major_strides({}) == index_vector{}));
}

BOOST_AUTO_TEST_CASE(the_first_axis_runs_fastest_in_column_major_order) {
    BOOST_TEST((column_major_strides({2, 3, 4}) == index_vector{1, 2, 6}));
    BOOST_TEST((column_major_strides({}) == index_vector{}));
}

BOOST_AUTO_TEST_CASE(strides_beyond_64_bits_are_refused) {
    index_t const large = index_t{1} << 40;
    auto const is_overflow = [](error const& problem) { return problem.code() == errc::overflow; };
    BOOST_CHECK_EXCEPTION(row_major_strides({2, large, large}), error, is_overflow);
    BOOST_CHECK_EXCEPTION(column_major_strides({large, large, 2}), error, is_overflow);
    BOOST_TEST((row_major_strides({large, 2, 2}) == index_vector{4, 2, 1}));
}

BOOST_AUTO_TEST_CASE(an_index_and_its_number_find_each_other) {
    index_vector const shape{3, 4, 5};
    BOOST_TEST(linear_offset({1, 2, 3}, {20, 5, 1}) == 33);
    BOOST_TEST(ravel_index({2, 3, 4}, shape) == 59);
    BOOST_TEST((unravel_index(33, shape) == index_vector{1, 2, 3}));
    for (index_t position = 0; position < 60; ++position)
        BOOST_TEST(ravel_index(unravel_index(position, shape), shape) == position);
    BOOST_TEST(ravel_index({}, {}) == 0);
    BOOST_TEST((unravel_index(0, {}) == index_vector{}));
}

BOOST_AUTO_TEST_CASE(row_major_means_one_after_the_other) {
    BOOST_TEST(is_row_major({2, 3}, {3, 1}));
    BOOST_TEST(!is_row_major({2, 3}, {1, 2}));
    BOOST_TEST(!is_row_major({2, 3}, {4, 1}));
    BOOST_TEST(is_row_major({1, 3}, {99, 1})); // an axis of one element is never stepped along
    BOOST_TEST(is_row_major({2, 0}, {7, 7}));
    BOOST_TEST(is_row_major({}, {}));
    BOOST_TEST(!is_row_major({3}, {2}));
}

BOOST_AUTO_TEST_SUITE_END()
