// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/axis_joins.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(core_axis_joins)

BOOST_AUTO_TEST_CASE(without_joins_each_factor_is_an_axis) {
    BOOST_TEST((detail::joined_extents({2, 3, 4}, 0) == index_vector{2, 3, 4}));
    BOOST_TEST((detail::joined_offset({1, 2, 3}, {2, 3, 4}, 0) == index_vector{1, 2, 3}));
    BOOST_TEST((factor_strides({12, 4, 1}, {2, 3, 4}, 0) == index_vector{12, 4, 1}));
    BOOST_TEST(!axis_joins{}.any());
}

BOOST_AUTO_TEST_CASE(joined_factors_are_the_digits_of_one_axis) {
    // axes of 2 and of 3 x 4
    BOOST_TEST((detail::joined_extents({2, 3, 4}, 0b100) == index_vector{2, 12}));
    BOOST_TEST((detail::joined_offset({1, 2, 3}, {2, 3, 4}, 0b100) == index_vector{1, 11}));
    BOOST_TEST((factor_strides({100, 5}, {2, 3, 4}, 0b100) == index_vector{100, 20, 5}));
    // one axis of all three
    BOOST_TEST((detail::joined_extents({2, 3, 4}, 0b110) == index_vector{24}));
    BOOST_TEST((detail::joined_offset({1, 2, 3}, {2, 3, 4}, 0b110) == index_vector{23}));
    BOOST_TEST((factor_strides({2}, {2, 3, 4}, 0b110) == index_vector{24, 8, 2}));
}

BOOST_AUTO_TEST_CASE(factors_of_a_scalar_are_no_axis) {
    BOOST_TEST((detail::joined_extents({1, 1}, 0b11) == index_vector{}));
    BOOST_TEST((detail::joined_offset({0, 0}, {1, 1}, 0b11) == index_vector{}));
    BOOST_TEST((factor_strides({}, {1, 1}, 0b11) == index_vector{0, 0}));
}

BOOST_AUTO_TEST_SUITE_END()
