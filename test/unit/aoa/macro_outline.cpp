// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/macro/context.hpp>
#include <reshard/aoa/macro/make_key_pattern.hpp>

#include "aoa/language.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using reshard::test::parsed;

BOOST_AUTO_TEST_SUITE(aoa_macro_outline)

namespace {

std::string outline(char const* key) {
    std::string text;
    aoa::detail::append_outline(text, key);
    return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(numbers_of_a_key_are_one_digit) {
    BOOST_TEST(outline("model.layers.17.w") == "model.layers.0.w");
    BOOST_TEST(outline("w_0") == "w_0");
    BOOST_TEST(outline("1234") == "0");
    BOOST_TEST(outline("") == "");
}

BOOST_AUTO_TEST_CASE(a_name_with_open_numbers_has_the_outline_of_what_it_means) {
    aoa::program const code = parsed("l.$N.w2, e.*.x, y[3:5] -> z, axis=0");
    auto const names = code.left(code.statements()[0]);
    BOOST_TEST(aoa::detail::outline_of(code.pattern(names[0])) == outline("l.3.w2"));
    BOOST_TEST(aoa::detail::outline_of(code.pattern(names[1])) == outline("e.12.x"));
    BOOST_TEST(aoa::detail::outline_of(code.pattern(names[2])) == outline("y_4"));
}

BOOST_AUTO_TEST_CASE(digits_in_a_row_are_counted) {
    BOOST_TEST(aoa::detail::digits_at("a12b", 1) == 2u);
    BOOST_TEST(aoa::detail::digits_at("a12b", 0) == 0u);
    BOOST_TEST(aoa::detail::digits_at("12", 2) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
