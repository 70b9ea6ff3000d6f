// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/place.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace reshard::aoa;
using namespace reshard::aoa::detail;

BOOST_AUTO_TEST_SUITE(aoa_place)

namespace {

void check_every_byte(std::string const& text) {
    line_index const lines(text);
    for (std::size_t offset = 0; offset <= text.size() + 1; ++offset) {
        if (offset > 0 && text.substr(offset - 1, 2) == "\r\n")
            continue; // nothing is ever found inside the end of a line
        BOOST_TEST((lines.place_at(text, offset) == place_of(text, offset)), text << offset);
        BOOST_TEST(excerpt(lines.line_at(text, offset)) == excerpt(text, offset), text << offset);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(lines_and_columns_count_from_one) {
    BOOST_TEST((place_of("ab\ncd", 0) == place{1, 1}));
    BOOST_TEST((place_of("ab\ncd", 2) == place{1, 3}));
    BOOST_TEST((place_of("ab\ncd", 3) == place{2, 1}));
    BOOST_TEST((place_of("ab\ncd", 99) == place{2, 3}));
    BOOST_TEST((place_of("", 0) == place{1, 1}));
}

BOOST_AUTO_TEST_CASE(every_kind_of_line_end_ends_one_line) {
    BOOST_TEST((place_of("a\r\nb\rc\n\nd", 3) == place{2, 1}));
    BOOST_TEST((place_of("a\r\nb\rc\n\nd", 5) == place{3, 1}));
    BOOST_TEST((place_of("a\r\nb\rc\n\nd", 8) == place{5, 1}));
}

BOOST_AUTO_TEST_CASE(a_column_is_a_character_and_not_a_byte) {
    BOOST_TEST((place_of("\xc3\xa4\xe2\x82\xac"
                         "x",
                         5) == place{1, 3}));
    BOOST_TEST(excerpt("\xc3\xa4x", 2) == "    \xc3\xa4x\n     ^");
}

BOOST_AUTO_TEST_CASE(an_excerpt_is_the_line_with_a_caret_below) {
    BOOST_TEST(excerpt("a -> b\nc -> d\ne", 12) == "    c -> d\n         ^");
    BOOST_TEST(excerpt("a\tb", 2) == "    a b\n      ^");
    BOOST_TEST(excerpt("", 0) == "    \n    ^");
}

BOOST_AUTO_TEST_CASE(a_long_line_is_cut_around_the_caret) {
    std::string const text = std::string(200, 'x') + 'y' + std::string(200, 'z');
    BOOST_TEST(excerpt(text, 200) == "    ..." + std::string(60, 'x') + 'y' + std::string(39, 'z') +
                                         "...\n" + std::string(67, ' ') + '^');
    BOOST_TEST(excerpt(text, 0) == "    " + std::string(100, 'x') + "...\n    ^");
}

BOOST_AUTO_TEST_CASE(no_character_is_cut) {
    std::string const text = "a\xc3\xa4\xe2\x82\xac" // 1, 2, 3 and 4 bytes
                             "\xf0\x9f\x98\x80";
    std::size_t const begins[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
    for (std::size_t most = 0; most <= text.size(); ++most)
        BOOST_TEST(reshard::aoa::detail::beginning(text, most) == text.substr(0, begins[most]),
                   most);
    BOOST_TEST(reshard::aoa::detail::beginning(text, 99) == text);
    // bytes that are not UTF-8 are cut in messages
    BOOST_TEST(reshard::aoa::detail::beginning(std::string(9, '\x80'), 7).size() == 7u);
    std::string const longest(150, 'x');
    std::string line;
    for (int i = 0; i < 60; ++i)
        line += "\xe2\x82\xac";
    BOOST_TEST(excerpt(line, 0) == "    " + line.substr(0, 99) + "...\n    ^");
    BOOST_TEST(excerpt(line, 150) ==
               "    ..." + line.substr(90) + '\n' + std::string(27, ' ') + '^');
    BOOST_TEST(excerpt(line + longest, 182) == "    ..." + line.substr(120) +
                                                   longest.substr(0, 40) + "...\n" +
                                                   std::string(7 + 20 + 2, ' ') + '^');
}

BOOST_AUTO_TEST_CASE(a_text_without_a_file_is_a_program) {
    BOOST_TEST(place_text("", "a\nb", 2) == "program:2:1");
    BOOST_TEST(place_text("m.aoa", "a\nb", 0) == "m.aoa:1:1");
}

BOOST_AUTO_TEST_CASE(an_index_of_lines_gives_the_places_that_counting_gives) {
    for (char const* text : {"", "a", "\n", "ab\ncd\n", "ab\n\n\ncd", "a\r\nb\rc\n\nd", "\r\n\r\n",
                             "a\n\rb", "\xc3\xa4\xe2\x82\xac\nx\xc3\xa4"})
        check_every_byte(text);
}

BOOST_AUTO_TEST_CASE(an_index_of_lines_longer_than_what_is_counted_at_once_are_right_too) {
    std::string text;
    for (int i = 0; i < 400; ++i)
        text += i % 3 == 0 ? "\xc3\xa4" : "x";
    check_every_byte(text + '\n' + text + '\n');
    check_every_byte(std::string(256, 'x') + '\n' + std::string(255, 'y') + '\n');
}

BOOST_AUTO_TEST_SUITE_END()
