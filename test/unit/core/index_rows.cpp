// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/index_rows.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <limits>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(packed_rows)

BOOST_AUTO_TEST_CASE(rows_come_back_as_they_went_in) {
    index_rows rows(2);
    rows.push_back({1, 2});
    rows.push_back({3, 4});
    BOOST_TEST(rows.size() == 2u);
    BOOST_TEST(rows.ndim() == 2u);
    BOOST_TEST((rows[1] == index_vector{3, 4}));
    rows.push_back({5, 6});
    rows.push_back({7, 8});
    BOOST_TEST(rows.bytes() >= 8 * sizeof(std::int32_t));
    BOOST_TEST(rows.bytes() < 16 * sizeof(index_t));
}

BOOST_AUTO_TEST_CASE(large_numbers_come_back_among_small_ones) {
    constexpr index_t most = std::numeric_limits<index_t>::max();
    index_rows rows(2);
    rows.push_back({-1, 2147483647});
    index_rows const small = rows;
    rows.push_back({2147483648, 4});
    rows.push_back({most, -most});
    BOOST_TEST((rows[0] == index_vector{-1, 2147483647}));
    BOOST_TEST((rows[1] == index_vector{2147483648, 4}));
    BOOST_TEST((rows[2] == index_vector{most, -most}));
    rows.append(small);
    BOOST_TEST((rows[3] == index_vector{-1, 2147483647}));
    index_rows shifted = small;
    shifted.append(small);
    shifted.shift(1, 1, 1);
    BOOST_TEST((shifted[0] == index_vector{-1, 2147483647}));
    BOOST_TEST((shifted[1] == index_vector{-1, 2147483648}));
    shifted.shift(1, 1, -1);
    index_rows twice = small;
    twice.append(small);
    BOOST_TEST((shifted == twice)); // however they are kept
    hasher a, b;
    shifted.add_to(a);
    twice.add_to(b);
    BOOST_TEST(a.value() == b.value());
}

BOOST_AUTO_TEST_CASE(rows_of_no_numbers_are_counted_too) {
    index_rows rows(0);
    rows.push_back({});
    rows.push_back({});
    BOOST_TEST(rows.size() == 2u);
    BOOST_TEST((rows[1] == index_vector{}));
}

BOOST_AUTO_TEST_CASE(a_single_short_row_takes_no_memory_of_its_own) {
    index_rows rows(3);
    rows.reserve(1);
    rows.push_back({1, 2, 3});
    BOOST_TEST(rows.bytes() == 0u);
    BOOST_TEST((rows[0] == index_vector{1, 2, 3}));
    index_rows const alone = rows;
    BOOST_TEST((alone == rows));
    rows.push_back({4, 5, 6});
    BOOST_TEST((alone != rows));
    BOOST_TEST((rows[0] == index_vector{1, 2, 3}));
    BOOST_TEST((rows[1] == index_vector{4, 5, 6}));
}

BOOST_AUTO_TEST_CASE(a_single_long_row_comes_back_as_it_went_in) {
    index_rows rows(5);
    rows.push_back({1, 2, 3, 4, 5});
    BOOST_TEST((rows[0] == index_vector{1, 2, 3, 4, 5}));
}

BOOST_AUTO_TEST_CASE(rows_of_another_table_come_behind_and_may_be_shifted) {
    index_rows rows(2), more(2);
    rows.push_back({1, 2});
    more.push_back({3, 4});
    more.push_back({5, 6});
    rows.append(more);
    BOOST_TEST(rows.size() == 3u);
    rows.shift(1, 0, 10);
    BOOST_TEST((rows[0] == index_vector{1, 2}));
    BOOST_TEST((rows[1] == index_vector{13, 4}));
    BOOST_TEST((rows[2] == index_vector{15, 6}));
}

BOOST_AUTO_TEST_CASE(boxes_of_another_list_come_behind_moved_along_an_axis) {
    box_list boxes(2), more(2);
    boxes.push_back({{0, 0}, {2, 3}});
    more.push_back({{0, 1}, {4, 2}});
    boxes.append_moved(more, 1, 3);
    BOOST_TEST(boxes.size() == 2u);
    BOOST_TEST((boxes[0] == box{{0, 0}, {2, 3}}));
    BOOST_TEST((boxes[1] == box{{0, 4}, {4, 2}}));
}

BOOST_AUTO_TEST_CASE(what_boxes_of_a_list_share_with_another_one) {
    constexpr index_t far = index_t{1} << 40;
    box_list boxes(2);
    boxes.push_back({{0, 0}, {4, 3}});
    boxes.push_back({{4, 2}, {2, 5}});
    boxes.push_back({{1, 1}, {0, 2}}); // no elements
    box const region{{2, 2}, {3, 2}};
    auto const check = [&] {
        BOOST_TEST((boxes.overlaps(0, region) && boxes.overlaps(1, region)));
        BOOST_TEST((boxes.common(0, region) == box{{2, 2}, {2, 1}}));
        BOOST_TEST((boxes.common(1, region) == box{{4, 2}, {1, 2}}));
        BOOST_TEST((!boxes.overlaps(0, {{4, 0}, {1, 3}}) && !boxes.overlaps(0, {{0, 3}, {9, 9}})));
        BOOST_TEST(!boxes.overlaps(2, {{0, 0}, {9, 9}}));
    };
    check();
    boxes.push_back({{far, 0}, {far, 1}}); // whose numbers are of 64 bits, and so are all others'
    check();
    BOOST_TEST((boxes.common(3, {{far + 1, 0}, {2, 9}}) == box{{far + 1, 0}, {2, 1}}));
    box_list scalars(0);
    scalars.push_back({});
    BOOST_TEST((scalars.overlaps(0, {}) && scalars.common(0, {}) == box{}));
}

BOOST_AUTO_TEST_CASE(a_list_of_boxes_is_two_tables) {
    box_list boxes(2);
    BOOST_TEST(boxes.empty());
    boxes.reserve(2);
    boxes.push_back({{0, 1}, {2, 3}});
    boxes.push_back({{4, 5}, {6, 7}});
    BOOST_TEST(boxes.size() == 2u);
    BOOST_TEST((boxes[0] == box{{0, 1}, {2, 3}}));
    BOOST_TEST((boxes[1] == box{{4, 5}, {6, 7}}));
    box_list same(2);
    same.push_back(boxes[0]);
    BOOST_TEST((same != boxes));
    same.push_back(boxes[1]);
    BOOST_TEST((same == boxes));
}

BOOST_AUTO_TEST_SUITE_END()
