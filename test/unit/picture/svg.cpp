// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "picture/svg.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(draw_svg)

BOOST_AUTO_TEST_CASE(numbers_are_short) {
    BOOST_TEST(svg_number(0.5) == "0.5");
    BOOST_TEST(svg_number(3) == "3");
    BOOST_TEST(svg_number(1.0 / 3) == "0.333333");
}

BOOST_AUTO_TEST_CASE(what_means_something_in_xml_is_escaped) {
    BOOST_TEST(svg_escaped("a<b & \"c\">\n\x01 d") == "a&lt;b &amp; &quot;c&quot;&gt; d");
}

BOOST_AUTO_TEST_CASE(elements_say_where_they_are) {
    BOOST_TEST(svg_text({1, 2}, "a<b", "end") ==
               "<text x=\"1\" y=\"2\" text-anchor=\"end\">a&lt;b</text>\n");
    BOOST_TEST(svg_upright_text({1, 2}, "up") ==
               "<text text-anchor=\"middle\" transform=\"translate(1 2) rotate(-90)\">up</text>\n");
    BOOST_TEST(svg_line({1, 2}, {3, 4.5}, "red") ==
               "<line x1=\"1\" y1=\"2\" x2=\"3\" y2=\"4.5\" stroke=\"red\"/>\n");
    BOOST_TEST(svg_line({0, 0}, {1, 1}, "red", "6 4") ==
               "<line x1=\"0\" y1=\"0\" x2=\"1\" y2=\"1\" "
               "stroke=\"red\" stroke-dasharray=\"6 4\"/>\n");
    BOOST_TEST(svg_box({1, 2}, {3, 4}, "#fff") ==
               "<rect x=\"1\" y=\"2\" width=\"3\" height=\"4\" fill=\"#fff\"/>\n");
    BOOST_TEST(svg_box({1, 2}, {3, 4}, "#fff", "R&D") ==
               "<rect x=\"1\" y=\"2\" width=\"3\" height=\"4\" fill=\"#fff\"><title>R&amp;D</title>"
               "</rect>\n");
    BOOST_TEST(svg_polyline({{1, 2}, {3, 4}}, "red") ==
               "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"red\" points=\"1,2 3,4\"/>\n");
}

BOOST_AUTO_TEST_CASE(a_document_is_read_aloud_by_its_title_and_description) {
    BOOST_TEST(svg_document({"A & B", "what it shows", {20, 10}}, "<g/>\n") ==
               "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" "
               "aria-labelledby=\"title description\" width=\"20\" height=\"10\" "
               "viewBox=\"0 0 20 10\" font-family=\"sans-serif\" font-size=\"12\">\n"
               "<title id=\"title\">A &amp; B</title>\n"
               "<desc id=\"description\">what it shows</desc>\n"
               "<rect x=\"0\" y=\"0\" width=\"20\" height=\"10\" fill=\"white\"/>\n<g/>\n</svg>\n");
}

BOOST_AUTO_TEST_SUITE_END()
