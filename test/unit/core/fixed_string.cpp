// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(fixed_strings)

BOOST_AUTO_TEST_CASE(the_text_is_the_literals_without_its_zero) {
    fixed_string const key("model.norm");
    BOOST_TEST(key.view() == "model.norm");
    std::string_view const text = key;
    BOOST_TEST(text.size() == 10u);
    BOOST_TEST(fixed_string("").view().empty());
}

BOOST_AUTO_TEST_CASE(texts_are_compared_whatever_their_lengths) {
    BOOST_TEST((fixed_string("a") == fixed_string("a")));
    BOOST_TEST(!(fixed_string("a") == fixed_string("ab")));
    BOOST_TEST((fixed_string("a") < fixed_string("b")));
}

BOOST_AUTO_TEST_SUITE_END()
