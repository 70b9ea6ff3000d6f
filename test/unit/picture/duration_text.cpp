// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "picture/duration_text.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(duration_text_)

BOOST_AUTO_TEST_CASE(three_digits_are_shown) {
    BOOST_TEST(duration_text(0) == "0 s");
    BOOST_TEST(duration_text(20.5) == "20.5 s");
    BOOST_TEST(duration_text(0.0123456) == "12.3 ms");
    BOOST_TEST(duration_text(1.5e-6) == "1.5 us");
    BOOST_TEST(duration_text(2e-9) == "2 ns");
    BOOST_TEST(duration_text(0.9996) == "1 s");
    BOOST_TEST(duration_text(16625) == "16625 s");
}

BOOST_AUTO_TEST_SUITE_END()
