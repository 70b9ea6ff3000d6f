// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/print.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard::aoa;
using namespace reshard::aoa::detail;
using texts = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(aoa_comments)

BOOST_AUTO_TEST_CASE(comments_stand_inside_behind_and_below_a_statement) {
    auto const comments =
        comments_of("a, # first\n  # second \n  b -> c  # behind\t\n\n \n  # below\n ");
    BOOST_TEST(comments.inside == (texts{"# first", "# second"}), boost::test_tools::per_element());
    BOOST_TEST(comments.behind == "# behind");
    BOOST_TEST(comments.below == (texts{"", "# below"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_number_sign_in_quotes_is_no_comment) {
    BOOST_TEST(comments_of("'#' -> b").behind.empty());
    BOOST_TEST((comments_of("\"a#1\" -> 'b#\"'# x\r\n") == statement_comments{{}, "# x", {}}));
}

BOOST_AUTO_TEST_CASE(all_ends_of_lines_are_seen) {
    BOOST_TEST(comment_lines("# a\r\n# b\r# c\n\r\n\n# d") ==
                   (texts{"# a", "# b", "# c", "", "# d"}),
               boost::test_tools::per_element());
    BOOST_TEST(comment_lines("   ").empty());
    BOOST_TEST(comment_lines("").empty());
}

BOOST_AUTO_TEST_SUITE_END()
