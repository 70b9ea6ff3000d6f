// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/data_type.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(core_byte_place)

BOOST_AUTO_TEST_CASE(whole_bytes_leave_no_elements_behind) {
    BOOST_TEST((byte_place_of(5, data_type::f32) == byte_place{20, 0}));
    BOOST_TEST((byte_place_of(-5, data_type::u8) == byte_place{-5, 0}));
    BOOST_TEST((byte_place_of(0, data_type::f6_e2m3) == byte_place{0, 0}));
}

BOOST_AUTO_TEST_CASE(two_elements_of_four_bits_fill_a_byte) {
    BOOST_TEST((byte_place_of(7, data_type::f4) == byte_place{3, 1}));
    BOOST_TEST((byte_place_of(-1, data_type::f4) == byte_place{-1, 1}));
    BOOST_TEST((byte_place_of(-2, data_type::f4) == byte_place{-1, 0}));
}

BOOST_AUTO_TEST_CASE(four_elements_of_six_bits_fill_three_bytes) {
    BOOST_TEST((byte_place_of(9, data_type::f6_e3m2) == byte_place{6, 1}));
    BOOST_TEST((byte_place_of(-1, data_type::f6_e3m2) == byte_place{-3, 3}));
}

BOOST_AUTO_TEST_SUITE_END()
