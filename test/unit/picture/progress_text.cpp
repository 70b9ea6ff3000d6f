// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "picture/progress_text.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(draw_progress_text)

using namespace reshard;

BOOST_AUTO_TEST_CASE(a_line_tells_share_bytes_rate_and_what_is_left) {
    BOOST_TEST(progress_text(500'000'000, 2'000'000'000, 1.0) ==
               "[#####               ] 25 %, 500 MB of 2 GB, 500 MB/s, 3 s left");
    BOOST_TEST(progress_text(1'500'000'000, 3'000'000'000'000, 1.0) ==
               "[                    ] 0 %, 1.5 GB of 3 TB, 1.5 GB/s, 33 min 19 s left");
}

BOOST_AUTO_TEST_CASE(what_has_not_begun_or_is_done_has_no_time_left) {
    BOOST_TEST(progress_text(0, 7, 0.0) == "[                    ] 0 %, 0 B of 7 B, 0 B/s");
    BOOST_TEST(progress_text(7, 7, 7.0) == "[####################] 100 %, 7 B of 7 B, 1 B/s");
    BOOST_TEST(progress_text(0, 0, 1.0) == "[####################] 100 %, 0 B of 0 B, 0 B/s");
}

BOOST_AUTO_TEST_CASE(times_are_rounded_up_and_have_two_units) {
    BOOST_TEST(time_text(0) == "0 s");
    BOOST_TEST(time_text(0.1) == "1 s");
    BOOST_TEST(time_text(59.5) == "1 min 0 s");
    BOOST_TEST(time_text(125) == "2 min 5 s");
    BOOST_TEST(time_text(3600) == "1 h 0 min");
    BOOST_TEST(time_text(6059) == "1 h 40 min");
    BOOST_TEST(time_text(1e30) == "1000000 h 0 min");
}

BOOST_AUTO_TEST_SUITE_END()
