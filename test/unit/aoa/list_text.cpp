// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/operation.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::aoa;
using namespace reshard::aoa::detail;
using numbers = std::vector<index_t>;

BOOST_AUTO_TEST_SUITE(aoa_list_text)

namespace {

numbers read(std::string const& text) { return parse_list({"permute", text, '"', {3, 9}}); }

} // namespace

BOOST_AUTO_TEST_CASE(a_list_is_integers_in_brackets) {
    BOOST_TEST(read("[1, 0]") == (numbers{1, 0}), boost::test_tools::per_element());
    BOOST_TEST(read(" [ -1 ,\n20 ] ") == (numbers{-1, 20}), boost::test_tools::per_element());
    BOOST_TEST(read("[7,]") == (numbers{7}), boost::test_tools::per_element());
    BOOST_TEST(read("[]").empty());
    BOOST_TEST(read("[ ]").empty());
}

BOOST_AUTO_TEST_CASE(anything_else_is_refused_and_shown) {
    for (char const* text : {"", "1, 0", "(1, 0)", "[1 0]", "[1, 0", "[1, 0] x", "[a]", "[,]",
                             "[1,,0]", "[1.5]", "[99999999999999999999]", "[[1]]", "[+1]"}) {
        try {
            read(text);
            BOOST_ERROR(std::string("accepted: ") + text);
        } catch (statement_error const& problem) {
            BOOST_TEST((problem.code == errc::syntax));
            BOOST_TEST((problem.where == text_span{3, 9}));
            BOOST_TEST(problem.message == "permute=\"" + std::string(text) +
                                              "\" is not a list of integers in brackets, as in "
                                              "permute=\"[1, 0]\"");
        }
    }
}

BOOST_AUTO_TEST_CASE(extents_are_integers_and_stars) {
    auto const extents = parse_extents({"resize", std::string(" [128,* , -1] "), '"', {}});
    BOOST_TEST((extents == std::vector<std::optional<index_t>>{128, std::nullopt, -1}));
    for (char const* text : {"128", "[**]", "[1 *]", "[:]", "[*", "[* x]", "[,]"})
        BOOST_CHECK_EXCEPTION(parse_extents({"resize", std::string(text), '"', {}}),
                              statement_error, [&](statement_error const& problem) {
                                  return problem.message ==
                                         "resize=\"" + std::string(text) +
                                             "\" is not a list of extents in brackets, as in "
                                             "resize=\"[128, *]\"";
                              });
}

BOOST_AUTO_TEST_CASE(ranges_have_a_colon_and_bounds_where_wanted) {
    auto const ranges =
        parse_ranges({"slice", std::string("[0:128, :, 4: , :-5,\n1 : 2]"), '"', {}});
    BOOST_TEST((ranges == std::vector<axis_range>{{0, 128}, {}, {4}, {0, -5}, {1, 2}}));
    for (char const* text : {"0:1", "[0]", "[1:2:3]", "[0:1", "[*]", "[:] x", "[a:b]", "[::]"})
        BOOST_CHECK_EXCEPTION(parse_ranges({"slice", std::string(text), '"', {}}), statement_error,
                              [&](statement_error const& problem) {
                                  return problem.message ==
                                         "slice=\"" + std::string(text) +
                                             "\" is not a list of ranges in brackets, as in "
                                             "slice=\"[0:128, :]\"";
                              });
}

BOOST_AUTO_TEST_SUITE_END()
