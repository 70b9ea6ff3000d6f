// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/text_file.hpp>

#include <boost/test/unit_test.hpp>

#include <string_view>

BOOST_AUTO_TEST_SUITE(format_utf8)

BOOST_AUTO_TEST_CASE(well_formed_text_is_accepted) {
    for (std::string_view const text :
         {"", "abc\x7F", "\xC2\x80\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
          "\xEE\x80\x80\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
        BOOST_TEST(reshard::detail::find_invalid_utf8(text) == text.size(), text);
    BOOST_TEST(reshard::detail::find_invalid_utf8(std::string_view("\0", 1)) == 1u);
}

BOOST_AUTO_TEST_CASE(overlong_forms_surrogates_and_cut_characters_are_refused) {
    for (char const* const text : {"\x80", "\xC0\x80", "\xC1\xBF", "\xC2", "\xE0\x9F\xBF",
                                   "\xED\xA0\x80", "\xE2\x82", "\xE2\x82x", "\xF0\x8F\xBF\xBF",
                                   "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF0\x90\x80", "\xFF"})
        BOOST_TEST(reshard::detail::find_invalid_utf8(text) == 0u, text);
    BOOST_TEST(reshard::detail::find_invalid_utf8("ab\xC3\xA9\xFF") == 4u);
}

BOOST_AUTO_TEST_SUITE_END()
