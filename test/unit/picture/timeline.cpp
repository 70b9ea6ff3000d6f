// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "picture/timeline.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(draw_timeline_)

namespace {

bool shows(std::string_view picture, std::string_view noun) {
    return picture.find(noun) != picture.npos;
}

plan_round round_of(index_t bytes, index_t peak, holder_t rank) {
    plan_round plan_round;
    plan_round.bytes = bytes;
    plan_round.peak_bytes = peak;
    plan_round.peak_process = rank;
    return plan_round;
}

} // namespace

BOOST_AUTO_TEST_CASE(bars_are_as_wide_as_what_is_written_and_as_high_as_the_memory) {
    // 3 of 4 kB are 420 of 560 pixels, less one between bars; 1 of 2 kB is 95 of 190.
    std::string const picture =
        draw_timeline({round_of(3'000, 2'000, 0), round_of(1'000, 1'000, 5)}, 2'000, {});
    BOOST_TEST(shows(picture,
                     "<rect x=\"80\" y=\"50\" width=\"419\" height=\"190\" fill=\"#3b7dbd\">"
                     "<title>round 1: 3 kB written, 2 kB needed by rank 0</title>"));
    BOOST_TEST(shows(picture,
                     "<rect x=\"500\" y=\"145\" width=\"139\" height=\"95\" fill=\"#1f5a94\">"
                     "<title>round 2: 1 kB written, 1 kB needed by rank 5</title>"));
    BOOST_TEST(shows(picture, "<line x1=\"80\" y1=\"50\" x2=\"640\" y2=\"50\" stroke=\"#c2410c\""));
    BOOST_TEST(shows(picture, ">memory budget: 2 kB<"));
    BOOST_TEST(shows(picture, ">most memory of a rank<"));
    BOOST_TEST(shows(picture, ">written so far; each bar is a round<"));
}

BOOST_AUTO_TEST_CASE(without_a_budget_there_is_no_line_for_it) {
    BOOST_TEST(!shows(draw_timeline({round_of(1, 1, 0)}, {}, {}), "budget"));
}

BOOST_AUTO_TEST_CASE(many_rounds_share_bars) {
    std::vector<plan_round> const rounds(1'200, round_of(10, 7, 3)); // three each
    std::string const picture = draw_timeline(rounds, {}, {});
    BOOST_TEST(shows(picture, "rounds 1 to 3: 30 B written, 7 B needed by rank 3"));
    BOOST_TEST(shows(picture, "rounds 1198 to 1200: 30 B written"));
}

BOOST_AUTO_TEST_CASE(rounds_that_write_nothing_are_drawn) {
    BOOST_TEST(shows(draw_timeline({round_of(0, 0, 0)}, 0, {}), "round 1: 0 B written"));
    for (auto const& rounds : {std::vector<plan_round>(), std::vector{round_of(0, 0, 0)}})
        BOOST_TEST(shows(draw_timeline(rounds, {}, {}), ">no round writes anything<"));
    BOOST_TEST(!shows(draw_timeline({round_of(1, 1, 0)}, {}, {}), "no round writes"));
    BOOST_TEST(!shows(draw_timeline({}, {}, {}), "<rect"));
}

BOOST_AUTO_TEST_SUITE_END()
