// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/json_events.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(format_json_events)

namespace {

/// Writes each event down.
struct recorder {
    std::string log;
    std::string stop_at = {};

    bool note(std::string const& event) {
        log += (log.empty() ? "" : " ") + event;
        return event != stop_at;
    }
    bool object_begin() { return note("{"); }
    bool object_end() { return note("}"); }
    bool array_begin() { return note("["); }
    bool array_end() { return note("]"); }
    bool key(std::string_view text) { return note(std::string(text) + ":"); }
    bool string(std::string_view text) { return note("'" + std::string(text) + "'"); }
    bool number(std::string_view text, reshard::detail::json_number kind) {
        constexpr char const* names[] = {"i", "r", "inf"};
        return note(std::string(text) + names[static_cast<int>(kind)]);
    }
    bool literal(std::string_view text) { return note(std::string(text)); }
    std::string refusal() const { return log.ends_with(stop_at) ? "stopped" : ""; }
};

std::string events(std::string const& text) {
    recorder handler{{}, "-"};
    auto const fault = reshard::detail::send_json_events(text, handler, 10);
    return fault ? std::to_string(fault->position) + ": " + fault->text : handler.log;
}

} // namespace

BOOST_AUTO_TEST_CASE(events_come_in_the_order_of_the_text) {
    BOOST_TEST(events(R"( {"a": [1, -2.5, "x\ny"], "a": {}, "": null, "b": true} )") ==
               "{ a: [ 1i -2.5r 'x\ny' ] a: { } : null b: true }");
}

BOOST_AUTO_TEST_CASE(texts_with_escapes_come_in_one_piece_each) {
    BOOST_TEST(events(R"(["a\u0041b\\c", "plain", "\"", "d\u00e9", "plain"])") ==
               "[ 'aAb\\c' 'plain' '\"' 'd\xC3\xA9' 'plain' ]");
}

BOOST_AUTO_TEST_CASE(numbers_are_integers_within_64_bits_or_real_or_infinite) {
    BOOST_TEST(events("[18446744073709551615, 18446744073709551616, 1e3, 1e400, -1e400, -7]") ==
               "[ 18446744073709551615i 18446744073709551616r 1e3r 1e400inf -1e400inf -7i ]");
}

BOOST_AUTO_TEST_CASE(faults_tell_the_byte) {
    BOOST_TEST(events("[1, x]") == "4: 'x' is not allowed here in JSON");
    BOOST_TEST(events("[1] x") == "4: something follows the end of the JSON text");
    BOOST_TEST(events("[1,").ends_with(": the JSON text ends too early"));
    BOOST_TEST(events("[[[[[[[[[[[]]]]]]]]]]]") == "10: arrays and objects are nested too deeply");
    BOOST_TEST(events("[\"\xFF\"]") == "2: this is not JSON");
}

BOOST_AUTO_TEST_CASE(what_people_write_that_is_no_json_is_called_by_its_name) {
    BOOST_TEST(events("[1,]") == "2: the comma before ']' has nothing after it; remove it");
    BOOST_TEST(events("{\"a\": 1,\n }") ==
               "7: the comma before '}' has nothing after it; remove it");
    BOOST_TEST(events("[1,,2]") == "3: there are two commas with nothing between them; remove one");
    BOOST_TEST(events("{'a': 1}") == "1: names and strings need double quotes, not single ones");
    BOOST_TEST(events("[1] // one").starts_with("4: "));
    BOOST_TEST(events("[1, // one\n2]") == "4: JSON has no comments; remove it");
    BOOST_TEST(events("[1, # one\n2]") == "4: JSON has no comments; remove it");
    BOOST_TEST(events("[1 2]") == "3: a comma or a colon is missing before '2'");
    BOOST_TEST(events("{\"a\" 1}") == "5: a comma or a colon is missing before '1'");
    BOOST_TEST(events("[[\"tp\", 2], \"rules\": []]") ==
               "19: ':' is not allowed here in JSON; is a bracket missing before it?");
}

BOOST_AUTO_TEST_CASE(a_handler_stops_the_text_with_its_own_words) {
    recorder handler{{}, "b:"};
    auto const fault = reshard::detail::send_json_events(R"({"a":1,"b":2})", handler, 10);
    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST(fault->text == "stopped");
    BOOST_TEST(fault->position == 9u);
    BOOST_TEST(handler.log == "{ a: 1i b:");
}

BOOST_AUTO_TEST_SUITE_END()
