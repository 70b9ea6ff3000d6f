// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/macro/make_key_pattern.hpp>

#include "aoa/patterns.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::aoa;
using namespace reshard::aoa::detail;
using reshard::test::parsed;
using reshard::test::pattern;
using numbers = std::vector<index_t>;

BOOST_AUTO_TEST_SUITE(aoa_macro_key_pattern)

namespace {

std::optional<numbers> match(key_pattern const& pattern, std::string_view key) {
    numbers found_numbers(pattern.captures);
    return aoa::detail::match(pattern, key, found_numbers) ? std::optional(found_numbers)
                                                           : std::nullopt;
}

std::optional<numbers> match(std::string const& text, std::string_view key) {
    return match(pattern(text), key);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_placeholder_is_one_or_more_digits) {
    BOOST_TEST((match("l.$L.w", "l.12.w") == numbers{12}));
    for (char const* key : {"l..w", "l.x.w", "l.1x.w", "l.1.w2", "xl.1.w", "l.1", "l.-1.w", ""})
        BOOST_TEST(!match("l.$L.w", key).has_value(), key);
}

BOOST_AUTO_TEST_CASE(digits_of_the_text_next_to_a_placeholder_stay_text) {
    BOOST_TEST((match("w1$L", "w123") == numbers{23}));
    BOOST_TEST((match("\"w$L\"", "w123") == numbers{123}));
    BOOST_TEST((match("l.$L.x0.$E", "l.3.x0.4") == numbers{3, 4}));
    BOOST_TEST(!match("w1$L", "w1").has_value());
    BOOST_TEST(
        (match(key_pattern{{{"w", true, 0}, {"2.x", false, {}}}, 1}, "w122.x") == numbers{12}));
    BOOST_TEST(!match(key_pattern{{{"w", true, 0}, {"2.x", false, {}}}, 1}, "w2.x").has_value());
}

BOOST_AUTO_TEST_CASE(a_star_and_an_array_match_and_are_forgotten) {
    BOOST_TEST((match("l.$L.e.*.w", "l.3.e.17.w") == numbers{3}));
    BOOST_TEST((match("l.$L.w[0:4]", "l.3.w_2") == numbers{3}));
}

BOOST_AUTO_TEST_CASE(a_number_of_more_than_18_digits_is_none) {
    BOOST_TEST((match("l$L", "l999999999999999999") == numbers{999999999999999999}));
    BOOST_TEST(!match("l$L", "l1000000000000000000").has_value());
}

BOOST_AUTO_TEST_CASE(two_open_numbers_may_not_touch) {
    BOOST_CHECK_THROW(pattern("l$A$B"), statement_error);
    BOOST_CHECK_THROW(pattern("l$A*"), statement_error);
    BOOST_CHECK_NO_THROW(pattern("l$A.$B"));
}

BOOST_AUTO_TEST_SUITE_END()
