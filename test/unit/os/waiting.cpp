// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/os/waiting.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(os_waiting)

BOOST_AUTO_TEST_CASE(time_that_passes_ends_it) {
    BOOST_TEST(waiting(0).is_over());
    BOOST_TEST(!waiting(1e9).is_over());
    waiting brief(0.001);
    while (!brief.is_over())
        brief.pause();
    BOOST_TEST(brief.seconds() >= 0.001);
}

BOOST_AUTO_TEST_CASE(seconds_are_said_in_few_digits) {
    BOOST_TEST(seconds_text(0) == "0 s");
    BOOST_TEST(seconds_text(10) == "10 s");
    BOOST_TEST(seconds_text(0.25) == "0.25 s");
}

BOOST_AUTO_TEST_SUITE_END()
