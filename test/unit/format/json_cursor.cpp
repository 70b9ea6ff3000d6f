// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/json_document.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(format_json_cursor)

namespace {

using namespace reshard;
using namespace reshard::detail;

template <class Read>
std::string refusal(std::string const& text, Read read) {
    auto const document = parse_json(text, "a.json", errc::corrupt_file);
    try {
        read(json_cursor(document, "a.json", errc::corrupt_file));
    } catch (error const& thrown) {
        BOOST_TEST((thrown.code() == errc::corrupt_file));
        return thrown.what();
    }
    return "accepted";
}

std::string extents_refusal(std::string const& text) {
    return refusal(text, [](json_cursor const& root) { root.at("tensors").at("w").extents(); });
}

} // namespace

BOOST_AUTO_TEST_CASE(values_are_read_where_they_stand) {
    auto const document = parse_json(R"({"a": {"x": [2, 0, 9223372036854775807]}, "b": "t"})",
                                     "a.json", errc::corrupt_file);
    json_cursor const root(document, "a.json", errc::corrupt_file);
    BOOST_TEST((root.at("a").at("x").extents() == index_vector{2, 0, 9223372036854775807}));
    BOOST_TEST(root.at("b").text() == "t");
    BOOST_TEST(!root.find("c").has_value());
    BOOST_TEST(root.members().size() == 2u);
    BOOST_TEST(root.members()[1].first == "b");
    BOOST_TEST(root.at("a").at("x").elements()[0].count() == 2);
}

BOOST_AUTO_TEST_CASE(errors_name_the_file_and_the_place) {
    BOOST_TEST(extents_refusal("[]") == "a.json: expected an object, found a list");
    BOOST_TEST(extents_refusal("{}") == "a.json: 'tensors' is missing");
    BOOST_TEST(extents_refusal(R"({"tensors": {"w": 5}})") ==
               "a.json: tensors.w: expected a list, found 5");
    BOOST_TEST(extents_refusal(R"({"tensors": {"w": [1, -2]}})") ==
               "a.json: tensors.w[1]: expected an integer from 0 to 2^63 - 1, found -2");
    BOOST_TEST(extents_refusal(R"({"tensors": {"w": [9223372036854775808]}})") ==
               "a.json: tensors.w[0]: expected an integer from 0 to 2^63 - 1, found "
               "9223372036854775808");
    BOOST_TEST(extents_refusal(R"({"tensors": {"w": [true, 1.0]}})").ends_with("found true"));
    BOOST_TEST(extents_refusal(R"({"tensors": {"w": [1.0]}})").find("tensors.w[0]") !=
               std::string::npos);
    BOOST_TEST(extents_refusal(R"({"tensors": {"w": [1,1,1,1,1,1,1,1,1]}})") ==
               "a.json: tensors.w: a tensor has at most 8 axes, found 9");
    BOOST_TEST(refusal(R"({"a": null})", [](json_cursor const& root) { root.at("a").text(); }) ==
               "a.json: a: expected a string, found null");
    BOOST_TEST(refusal(R"({"m": {"x.y": "t"}})", [](json_cursor const& root) {
                   root.at("m").members()[0].second.refuse("no");
               }) == "a.json: m['x.y']: no");
}

BOOST_AUTO_TEST_CASE(unknown_names_are_refused_with_those_that_are_known) {
    BOOST_TEST(refusal(R"({"rank": 1, "ranc": 2})", [](json_cursor const& root) {
                   root.check_names({"rank", "shape"});
               }) == "a.json: 'ranc' is unknown; it must be one of 'rank', 'shape'");
}

BOOST_AUTO_TEST_SUITE_END()
