// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/print.hpp>

#include "aoa/language.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard::aoa;
using reshard::test::parsed;

BOOST_AUTO_TEST_SUITE(aoa_format)

namespace {

/// The program as neat text, which is a law to itself.
std::string neat(std::string const& text) {
    program const written = parsed(text);
    std::string result = format(written);
    BOOST_TEST((parsed(result) == written), result);
    BOOST_TEST(format(parsed(result)) == result);
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(arrows_of_neighbours_stand_below_each_other) {
    BOOST_TEST(neat("a->b\nlong.name , c   -> d,axis = 0\n_->e") == "a            -> b\n"
                                                                    "long.name, c -> d, axis=0\n"
                                                                    "_            -> e\n");
}

BOOST_AUTO_TEST_CASE(an_empty_line_or_a_comment_begins_a_new_block) {
    BOOST_TEST(neat("\n\n# top\na -> b\n\n\n\nlonger -> c\n  #  note\nd->e # why\n\n") ==
               "# top\n"
               "a -> b\n"
               "\n"
               "longer -> c\n"
               "#  note\n"
               "d -> e  # why\n");
}

BOOST_AUTO_TEST_CASE(comments_inside_a_statement_move_above_it) {
    BOOST_TEST(neat("x -> y\nq, # query\n  k ->   # key\n  qk, axis=0 # both") ==
               "x -> y\n"
               "# query\n"
               "# key\n"
               "q, k -> qk, axis=0  # both\n");
}

BOOST_AUTO_TEST_CASE(a_long_statement_is_broken_behind_commas_and_the_arrow) {
    std::string const a(40, 'a'), b(40, 'b'), c(40, 'c');
    BOOST_TEST(neat(a + "^T," + b + "^T," + c + " -> d, fused_qkv, num_heads=4") ==
               a + "^T, " + b + "^T,\n    " + c + " ->\n    d, fused_qkv, num_heads=4\n");
    BOOST_TEST(neat("s -> " + a + "," + b + "," + c + ", axis=0") ==
               "s ->\n    " + a + ", " + b + ",\n    " + c + ", axis=0\n");
    BOOST_TEST(neat(std::string(120, 'n') + " -> b") == std::string(120, 'n') + " ->\n    b\n");
}

BOOST_AUTO_TEST_CASE(a_wide_left_side_does_not_move_the_arrows_of_others) {
    std::string const wide(60, 'w');
    BOOST_TEST(neat("a -> b\n" + wide + " -> c") == "a -> b\n" + wide + " -> c\n");
    std::string const left(50, 'l'), right(80, 'r');
    BOOST_TEST(neat(left + " -> b\na -> " + right) == left + " -> b\na -> " + right + "\n");
}

BOOST_AUTO_TEST_CASE(what_is_quoted_stays_quoted) {
    BOOST_TEST(neat("\"a b\" -> 'x*', permute='[1, 0]', dtype=\"float16\"") ==
               "\"a b\" -> 'x*', permute='[1, 0]', dtype=\"float16\"\n");
    BOOST_TEST(neat("l.$LAYER_ID + 1.w[0:3] -> b") == "l.$LAYER_ID+1.w[0:3] -> b\n");
}

BOOST_AUTO_TEST_CASE(a_program_without_statements_keeps_its_comments) {
    BOOST_TEST(neat("") == "");
    BOOST_TEST(neat("\n# one\n\n\n # two") == "# one\n\n# two\n");
}

BOOST_AUTO_TEST_SUITE_END()
