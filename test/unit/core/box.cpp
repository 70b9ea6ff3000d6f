// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/box.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(boxes)

BOOST_AUTO_TEST_CASE(whole_begins_at_the_origin) {
    BOOST_TEST((whole({2, 3}) == box{{0, 0}, {2, 3}}));
    BOOST_TEST((whole({}) == box{}));
    BOOST_TEST((whole({2, 3}).ndim() == 2u));
    BOOST_TEST((box{{4, 1}, {2, 3}}.end(0) == 6));
}

BOOST_AUTO_TEST_CASE(boxes_share_what_lies_in_both) {
    BOOST_TEST((intersect(box{{0, 0}, {4, 4}}, box{{2, 3}, {5, 5}}) == box{{2, 3}, {2, 1}}));
    BOOST_TEST((intersect(box{{1}, {2}}, box{{0}, {9}}) == box{{1}, {2}}));
    BOOST_TEST((intersect(box{}, box{}) == box{}));
}

BOOST_AUTO_TEST_CASE(disjoint_boxes_share_nothing) {
    BOOST_TEST(!intersect(box{{0}, {3}}, box{{3}, {2}}).has_value());
    BOOST_TEST(!intersect(box{{0, 0}, {3, 3}}, box{{0, 5}, {3, 1}}).has_value());
    BOOST_TEST(!intersect(box{{2}, {0}}, box{{0}, {9}}).has_value());
}

BOOST_AUTO_TEST_CASE(sharing_does_not_depend_on_the_order) {
    for (index_t first = 0; first < 5; ++first)
        for (index_t length = 0; length < 4; ++length)
            for (index_t other = 0; other < 5; ++other) {
                box const a{{first, 1}, {length, 2}};
                box const b{{other, 0}, {2, 2}};
                BOOST_TEST((intersect(a, b) == intersect(b, a)));
            }
}

BOOST_AUTO_TEST_CASE(a_box_contains_itself_and_what_ends_with_it) {
    box const outer{{2, 2}, {3, 3}};
    BOOST_TEST(contains(outer, outer));
    BOOST_TEST(contains(outer, box{{4, 4}, {1, 1}}));
    BOOST_TEST(!contains(outer, box{{4, 4}, {2, 1}}));
    BOOST_TEST(!contains(outer, box{{1, 2}, {1, 1}}));
    BOOST_TEST(contains(outer, box{{5, 5}, {0, 0}}));
    BOOST_TEST(!contains(outer, box{{6, 5}, {0, 0}}));
}

BOOST_AUTO_TEST_CASE(a_zero_extent_empties_a_box_but_a_scalar_is_full) {
    BOOST_TEST(is_empty(box{{0, 0}, {3, 0}}));
    BOOST_TEST(!is_empty(box{}));
    BOOST_TEST(element_count(box{{7, 7}, {3, 2}}) == 6);
    BOOST_TEST(element_count(box{}) == 1);
}

BOOST_AUTO_TEST_CASE(offsets_can_be_counted_from_elsewhere) {
    BOOST_TEST((relative_to(box{{5, 7}, {1, 2}}, {4, 7}) == box{{1, 0}, {1, 2}}));
}

BOOST_AUTO_TEST_CASE(a_box_is_printed_as_intervals) {
    BOOST_TEST(to_string(box{{0, 4}, {2, 4}}) == "[0:2, 4:8]");
    BOOST_TEST(to_string(box{}) == "[]");
}

BOOST_AUTO_TEST_CASE(boxes_have_an_order_to_be_sorted_by) {
    BOOST_TEST((box{{0}, {2}} < box{{1}, {1}}));
    BOOST_TEST((box{{1}, {1}} < box{{1}, {2}}));
    BOOST_TEST(!(box{{1}, {1}} < box{{1}, {1}}));
}

BOOST_AUTO_TEST_SUITE_END()
