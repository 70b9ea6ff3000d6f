// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/cover.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_cover)

namespace {

using numbers = std::vector<std::uint32_t>;
using kind = cover_fault::kind;

box_list list(std::size_t ndim, std::vector<box> const& boxes) {
    box_list result(ndim);
    for (box const& box : boxes)
        result.push_back(box);
    return result;
}

box_index index(std::size_t ndim, std::vector<box> const& boxes) {
    return box_index(list(ndim, boxes));
}

} // namespace

BOOST_AUTO_TEST_CASE(equal_boxes_are_one_distinct_box) {
    auto const match =
        distinct(list(1, {{{4}, {2}}, {{0}, {4}}, {{4}, {2}}, {{4}, {3}}, {{0}, {4}}}));
    BOOST_TEST((match.boxes == list(1, {{{4}, {2}}, {{0}, {4}}, {{4}, {3}}})));
    BOOST_TEST((match.which == numbers{0, 1, 0, 2, 1}));
}

BOOST_AUTO_TEST_CASE(scalars_are_one_distinct_box) {
    auto const match = distinct(list(0, {{}, {}, {}}));
    BOOST_TEST(match.boxes.size() == 1u);
    BOOST_TEST((match.which == numbers{0, 0, 0}));
    BOOST_TEST(distinct(box_list(3)).boxes.empty());
}

BOOST_AUTO_TEST_CASE(a_tiling_has_no_fault) {
    BOOST_TEST(!find_cover_fault(
        {{0, 0}, {4, 6}},
        index(2, {{{0, 0}, {4, 3}}, {{0, 3}, {1, 3}}, {{1, 3}, {3, 2}}, {{1, 5}, {3, 1}}})));
    BOOST_TEST(!find_cover_fault({}, index(0, {{}})));
}

BOOST_AUTO_TEST_CASE(nothing_is_covered_by_nothing) {
    BOOST_TEST(!find_cover_fault({{0, 0}, {0, 6}}, index(2, {})));
    BOOST_TEST(!find_cover_fault({{0, 0}, {0, 6}}, index(2, {{{0, 0}, {0, 6}}, {{0, 0}, {0, 6}}})));
}

BOOST_AUTO_TEST_CASE(a_gap_is_named_by_its_elements) {
    auto const fault =
        find_cover_fault({{0, 0}, {4, 6}}, index(2, {{{0, 0}, {4, 3}}, {{0, 4}, {4, 2}}}));
    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->type == kind::gap));
    BOOST_TEST((fault->where == box{{0, 3}, {4, 1}}));
}

BOOST_AUTO_TEST_CASE(a_gap_in_the_middle_is_found) {
    // A frame around one missing element of a 3 x 3 matrix.
    auto const fault = find_cover_fault(
        {{0, 0}, {3, 3}},
        index(2, {{{0, 0}, {1, 3}}, {{2, 0}, {1, 3}}, {{1, 0}, {1, 1}}, {{1, 2}, {1, 1}}}));
    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->type == kind::gap));
    BOOST_TEST((fault->where == box{{1, 1}, {1, 1}}));
}

BOOST_AUTO_TEST_CASE(what_nobody_holds_is_a_gap_as_a_whole) {
    auto const fault = find_cover_fault({{2, 0}, {2, 6}}, index(2, {}));
    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->where == box{{2, 0}, {2, 6}}));
}

BOOST_AUTO_TEST_CASE(an_overlap_names_both_boxes_and_the_elements) {
    auto const fault =
        find_cover_fault({{0}, {9}}, index(1, {{{0}, {3}}, {{8}, {1}}, {{5}, {3}}, {{2}, {4}}}));
    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->type == kind::overlap));
    BOOST_TEST(fault->first == 0u);
    BOOST_TEST(fault->second == 3u);
    BOOST_TEST((fault->where == box{{2}, {1}}));
}

BOOST_AUTO_TEST_CASE(an_overlap_is_found_even_where_the_count_is_right) {
    // 4 elements twice, 4 never: the sum is a cover's.
    auto const fault =
        find_cover_fault({{0}, {12}}, index(1, {{{0}, {4}}, {{0}, {4}}, {{8}, {4}}}));
    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->type == kind::overlap));
    BOOST_TEST((fault->where == box{{0}, {4}}));
}

BOOST_AUTO_TEST_CASE(a_thousand_strips_are_checked_as_a_whole) {
    std::vector<box> strips;
    for (index_t i = 0; i < 1000; ++i)
        strips.push_back({{0, i * 3}, {7, 3}});
    BOOST_TEST(!find_cover_fault({{0, 0}, {7, 3000}}, index(2, strips)));
    strips[500].shape = {7, 2};
    auto const fault = find_cover_fault({{0, 0}, {7, 3000}}, index(2, strips));
    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->where == box{{0, 1502}, {7, 1}}));
}

BOOST_AUTO_TEST_CASE(the_last_of_a_hundred_thousand_strips_is_missed) {
    box_list strips(1);
    for (index_t i = 0; i < 99999; ++i)
        strips.push_back({{i * 2}, {2}});
    auto const fault = find_cover_fault({{0}, {200000}}, box_index(strips));
    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->type == kind::gap));
    BOOST_TEST((fault->where == box{{199998}, {2}}));
}

BOOST_AUTO_TEST_CASE(a_gap_among_strips_that_cross_is_found) {
    // Rows on the left, columns on the right, so that cutting around one strip cuts all others.
    std::vector<box> strips;
    for (index_t i = 0; i < 2000; ++i)
        strips.push_back({{i, 0}, {1, 2000}});
    for (index_t i = 0; i < 2000; ++i)
        strips.push_back({{0, 2000 + i}, {i == 1999 ? 1999 : 2000, 1}});
    auto const fault = find_cover_fault({{0, 0}, {2000, 4000}}, index(2, strips));
    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->where == box{{1999, 3999}, {1, 1}}));
}

BOOST_AUTO_TEST_CASE(a_gap_is_as_large_as_it_can_be) {
    // Four tiles of a 6 x 6 matrix, of which that with the rows 2 and 3 of three columns is missing.
    auto const fault = find_cover_fault(
        {{0, 0}, {6, 6}}, index(2, {{{0, 0}, {2, 6}}, {{2, 3}, {2, 3}}, {{4, 0}, {2, 6}}}));
    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->where == box{{2, 0}, {2, 3}}));
}

BOOST_AUTO_TEST_CASE(boxes_that_share_elements_may_leave_a_gap_or_none) {
    box const full_box{{0, 0}, {5, 5}};
    // A pinwheel whose arms share the corners, around one element.
    std::vector<box> arms{{{0, 0}, {2, 5}}, {{0, 3}, {5, 2}}, {{3, 0}, {2, 5}}, {{0, 0}, {5, 2}}};
    BOOST_TEST((uncovered(full_box, index(2, arms)) == box{{2, 2}, {1, 1}}));
    arms.push_back({{1, 1}, {3, 3}});
    BOOST_TEST(!uncovered(full_box, index(2, arms)).has_value());
    // 20000 intervals of 3, each sharing one element with the next; the last but one is missing.
    box_list chain(1);
    for (index_t i = 0; i < 20000; ++i)
        if (i != 19998)
            chain.push_back({{i * 2}, {3}});
    BOOST_TEST((uncovered({{0}, {40001}}, box_index(chain)) == box{{39997}, {1}}));
}

BOOST_AUTO_TEST_SUITE_END()
