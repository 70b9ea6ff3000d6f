// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/key_index.hpp>

#include <boost/test/unit_test.hpp>

#include <utility>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(core_text_list)

BOOST_AUTO_TEST_CASE(texts_are_numbered_in_the_order_in_which_they_come) {
    text_list texts;
    BOOST_TEST(texts.push_back("a") == 0u);
    BOOST_TEST(texts.push_back("") == 1u);
    BOOST_TEST(texts.push_back("a", "bc") == 2u);
    BOOST_TEST(texts.size() == 3u);
    BOOST_TEST(texts[0] == "a");
    BOOST_TEST(texts[1] == "");
    BOOST_TEST(texts[2] == "abc");
}

BOOST_AUTO_TEST_CASE(equal_characters_are_not_yet_equal_texts) {
    text_list current_texts, other_texts;
    current_texts.push_back("ab");
    current_texts.push_back("c");
    other_texts.push_back("a");
    other_texts.push_back("bc");
    BOOST_TEST((current_texts != other_texts));
    BOOST_TEST((current_texts == text_list(current_texts)));
}

BOOST_AUTO_TEST_CASE(a_short_text_stays_where_it_is_when_its_list_is_moved) {
    text_list texts;
    texts.push_back("w");
    std::string_view const text = texts[0];
    text_list const moved = std::move(texts);
    BOOST_TEST(static_cast<void const*>(moved[0].data()) == static_cast<void const*>(text.data()));
}

BOOST_AUTO_TEST_SUITE_END()
