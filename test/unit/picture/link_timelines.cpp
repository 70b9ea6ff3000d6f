// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "picture/link_timelines.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(draw_link_timelines_)

namespace {

bool shows(std::string_view picture, std::string_view noun) {
    return picture.find(noun) != picture.npos;
}

/// A link of 100 bytes a second, in a plan of 40 seconds: half of that for 10 seconds, all of it
/// for 25, and nothing in the last five. 3000 bytes of 4000.
link_strip some_link() {
    link_strip strip;
    strip.link.kind = simulation::link_kind::node_out;
    strip.link.number = 3;
    strip.link.bytes = 3000;
    strip.link.utilisation = 0.75;
    strip.link.timeline = {{0, 10, 50}, {10, 35, 100}};
    strip.seconds = 40;
    strip.bounds = true;
    return strip;
}

} // namespace

BOOST_AUTO_TEST_CASE(strips_are_as_high_as_what_a_link_does_of_what_it_can) {
    // 40 seconds are 400 pixels, and all that it can is 16 pixels high.
    std::string const picture = draw_link_timelines({some_link()}, 30, {});
    BOOST_TEST(shows(picture, ">the link out of node 3</text>"));
    BOOST_TEST(shows(picture,
                     "<rect x=\"240\" y=\"30\" width=\"400\" height=\"16\" fill=\"#f2f2f2\">"
                     "<title>the link out of node 3: 3 kB, 75 % of its rate on average<"));
    BOOST_TEST(shows(
        picture,
        "<rect x=\"240\" y=\"38\" width=\"100\" height=\"8\" fill=\"#1f5a94\">"
        "<title>the link out of node 3, 0 s to 10 s: 50 B a second, 50 % of its rate</title>"));
    BOOST_TEST(shows(
        picture,
        "<rect x=\"340\" y=\"30\" width=\"250\" height=\"16\" fill=\"#1f5a94\">"
        "<title>the link out of node 3, 10 s to 35 s: 100 B a second, 100 % of its rate</title>"));
    BOOST_TEST(shows(picture, "<line x1=\"540\" y1=\"24\" x2=\"540\" y2=\"52\""));
    BOOST_TEST(shows(picture, ">no order of the transfers takes less than 30 s<"));
    for (std::string const time : {"0 s", "10 s", "20 s", "30 s", "40 s"})
        BOOST_TEST(shows(picture, ">" + time + "</text>"));
}

BOOST_AUTO_TEST_CASE(links_stand_below_one_another_and_those_that_bound_nothing_are_lighter) {
    link_strip strip = some_link();
    strip.link.number = 4;
    strip.bounds = false;
    std::string const picture = draw_link_timelines({some_link(), strip}, 30, {0, 100});
    BOOST_TEST(shows(picture, "<rect x=\"240\" y=\"130\" width=\"400\""));
    BOOST_TEST(shows(picture, "<rect x=\"340\" y=\"152\" width=\"250\" height=\"16\" "
                              "fill=\"#7fb0dc\"><title>the link out of node 4, 10 s"));
    BOOST_TEST(link_timelines_size(2).y == link_timelines_size(1).y + 22);
}

BOOST_AUTO_TEST_CASE(links_that_are_left_out_are_counted) {
    BOOST_TEST(shows(draw_link_timelines({some_link()}, 30, {}, 604), ": 604 more</text>"));
    BOOST_TEST(!shows(draw_link_timelines({some_link()}, 30, {}), "left out"));
}

BOOST_AUTO_TEST_CASE(a_strip_has_no_more_intervals_than_pixels) {
    // Half of its rate on the average, in 4000 intervals of none and all: 400 parts of a pixel.
    link_strip strip = some_link();
    strip.link.bytes = 2000;
    strip.link.utilisation = 0.5;
    strip.link.timeline.clear();
    for (int i = 0; i < 4000; ++i)
        strip.link.timeline.push_back({i / 100.0, (i + 1) / 100.0, i % 2 == 0 ? 0.0 : 100.0});
    std::vector<simulation::interval> const drawn = detail::drawn_timeline(strip);
    BOOST_TEST(drawn.size() == 400u);
    for (simulation::interval const& interval : drawn)
        BOOST_TEST(interval.bytes_per_second == 50, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(detail::drawn_timeline(some_link()).size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_link_is_a_line_of_characters) {
    link_strip strip = some_link();
    BOOST_TEST(strip_text(strip, 8) == "++##### ");
    BOOST_TEST(strip_text(strip, 4) == "+##+"); // the last ten seconds: half of it
    BOOST_TEST(strip_text(strip, 1) == "#");
    strip.link.timeline = {{0, 10, 1}, {10, 20, 25}, {20, 30, 74}, {30, 40, 75}};
    BOOST_TEST(strip_text(strip, 4) == ".:+#");
}

BOOST_AUTO_TEST_CASE(what_moves_nothing_has_no_shares) {
    link_strip idle = some_link();
    idle.link.bytes = 0;
    idle.link.utilisation = 0;
    BOOST_TEST(strip_text(idle, 4) == "    ");
    BOOST_TEST(shows(draw_link_timelines({}, 0, {}), ">nothing moves<"));
}

BOOST_AUTO_TEST_SUITE_END()
