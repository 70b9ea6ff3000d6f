// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "picture/byte_text.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(draw_byte_text)

BOOST_AUTO_TEST_CASE(three_digits_and_a_unit) {
    BOOST_TEST(byte_text(0) == "0 B");
    BOOST_TEST(byte_text(999) == "999 B");
    BOOST_TEST(byte_text(1000) == "1 kB");
    BOOST_TEST(byte_text(999'400) == "999 kB");
    BOOST_TEST(byte_text(999'600) == "1 MB");
    BOOST_TEST(byte_text(1'536'000'000) == "1.54 GB");
    BOOST_TEST(byte_text(9223372036854775807) == "9.22 EB");
}

BOOST_AUTO_TEST_SUITE_END()
