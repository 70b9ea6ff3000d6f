// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/json_document.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(format_json_document)

namespace {

std::string refusal(std::string const& text) {
    try {
        reshard::detail::parse_json(text, "a.json", reshard::errc::syntax);
    } catch (reshard::error const& thrown) {
        BOOST_TEST((thrown.code() == reshard::errc::syntax));
        return thrown.what();
    }
    return "accepted";
}

} // namespace

BOOST_AUTO_TEST_CASE(a_document_is_read) {
    auto const document = reshard::detail::parse_json(R"({"a": [1, {"a": "x"}], "b": {"a": null}})",
                                                      "a.json", reshard::errc::syntax);
    boost::json::value const& root = document;
    BOOST_TEST(root.at("a").at(1).at("a").as_string() == "x");
}

BOOST_AUTO_TEST_CASE(a_document_that_moves_keeps_its_values) {
    auto document =
        reshard::detail::parse_json(R"({"a": ["x", 2]})", "a.json", reshard::errc::syntax);
    auto const moved = std::move(document);
    boost::json::value const& root = moved;
    BOOST_TEST(root.at("a").at(0).as_string() == "x");
    BOOST_TEST(root.at("a").at(1).as_int64() == 2);
}

BOOST_AUTO_TEST_CASE(errors_tell_line_and_column) {
    BOOST_TEST(refusal("{\"a\": 1,\n  \"b\": x}") == "a.json:2:8: 'x' is not allowed here in JSON");
    BOOST_TEST(refusal("{\"a\": 1}\n\n]") ==
               "a.json:3:1: something follows the end of the JSON text");
    BOOST_TEST(refusal("") == "a.json:1:1: the JSON text ends too early");
}

BOOST_AUTO_TEST_CASE(a_key_may_not_stand_twice_in_one_object) {
    BOOST_TEST(refusal("{\"a\": 1,\n \"\\u0061\": 2}") ==
               "a.json:2:9: the key 'a' occurs twice in one object");
    BOOST_TEST(refusal(R"([{"a": {"a": 1}}, {"a": 2}])") == "accepted");
}

BOOST_AUTO_TEST_CASE(lines_and_columns_are_counted_from_one) {
    BOOST_TEST(reshard::detail::line_and_column("ab\ncd", 0) == "1:1");
    BOOST_TEST(reshard::detail::line_and_column("ab\ncd", 2) == "1:3");
    BOOST_TEST(reshard::detail::line_and_column("ab\ncd", 3) == "2:1");
    BOOST_TEST(reshard::detail::line_and_column("ab\ncd", 5) == "2:3");
}

BOOST_AUTO_TEST_CASE(a_key_that_stands_twice_is_found_in_small_and_in_large_objects) {
    for (int const count : {1, 2, 8, 9, 100}) {
        std::string members;
        for (int i = 0; i < count; ++i)
            members += "\"k" + std::to_string(i) + R"(":{"a":1,"b":2},)";
        BOOST_TEST(refusal("{" + members + R"("last":{"a":1}})") == "accepted");
        for (int const twice : {0, count / 2, count - 1}) {
            std::string const key = "k" + std::to_string(twice);
            BOOST_TEST(refusal("{" + members + "\"" + key + "\":1}")
                           .ends_with("the key '" + key + "' occurs twice in one object"));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_place_is_told_by_its_steps) {
    using namespace reshard;
    auto const document =
        detail::parse_json(R"({"a":{"x y":[{"b":1},{"b":"no"}]}})", "f", errc::syntax);
    detail::json_cursor const root(document, "f", errc::bad_layout);
    auto const in_list = root.at("a").members()[0].second.elements()[1];
    BOOST_CHECK_EXCEPTION(in_list.at("b").count(), error,
                          test::mentions(errc::bad_layout, "f: a['x y'][1].b: expected"));
    BOOST_CHECK_EXCEPTION(root.at("c"), error,
                          test::mentions(errc::bad_layout, "f: 'c' is missing"));
}

BOOST_AUTO_TEST_CASE(a_long_place_is_told_by_all_its_steps) {
    using namespace reshard;
    auto const document = detail::parse_json(
        R"({"a":{"b":{"c":[[{"d":{"e":{"f":[1, 2, -3]}}}]]}}})", "f", errc::syntax);
    detail::json_cursor const root(document, "f", errc::bad_layout);
    auto const list = root.at("a").at("b").at("c").elements()[0].elements()[0];
    BOOST_CHECK_EXCEPTION(
        list.at("d").at("e").at("f").extents(), error,
        test::mentions(errc::bad_layout, "f: a.b.c[0][0].d.e.f[2]: expected an integer from 0"));
}

BOOST_AUTO_TEST_SUITE_END()
