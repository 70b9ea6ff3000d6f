// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/short_list.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <utility>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(lists_of_one)

BOOST_AUTO_TEST_CASE(elements_come_back_as_they_went_in) {
    short_list<int> list;
    BOOST_TEST(list.size() == 0u);
    for (int i = 0; i < 4; ++i) {
        list.push_back(10 * i);
        for (int k = 0; k <= i; ++k)
            BOOST_TEST(list[static_cast<std::size_t>(k)] == 10 * k);
        BOOST_TEST(list.size() == static_cast<std::size_t>(i + 1));
    }
}

BOOST_AUTO_TEST_CASE(one_element_takes_no_memory) {
    short_list<int> list;
    list.reserve(1);
    list.push_back(7);
    BOOST_TEST(list.bytes() == 0u);
    list.push_back(8);
    BOOST_TEST(list.bytes() >= 2 * sizeof(int));
}

BOOST_AUTO_TEST_CASE(lists_are_equal_when_their_elements_are) {
    short_list<int> a, b;
    a.reserve(5);
    for (int const element : {1, 2, 3}) {
        a.push_back(element);
        BOOST_TEST((a != b));
        b.push_back(element);
        BOOST_TEST((a == b));
    }
}

BOOST_AUTO_TEST_CASE(a_few_elements_take_no_memory_where_there_is_room_for_them) {
    short_list<int, 3> list;
    int const numbers[] = {1, 2, 3, 4};
    list.append(numbers, 3);
    BOOST_TEST(list.bytes() == 0u);
    BOOST_TEST(list[2] == 3);
    list.append(numbers + 3, 1);
    BOOST_TEST(list.bytes() >= 4 * sizeof(int));
    BOOST_TEST(std::equal(list.begin(), list.end(), numbers, numbers + 4));
    list[1] = 7;
    BOOST_TEST(list[1] == 7);
}

BOOST_AUTO_TEST_CASE(a_copy_is_its_own_list_and_what_is_moved_is_empty) {
    for (int const size : {1, 5}) {
        short_list<int> list;
        for (int i = 0; i < size; ++i)
            list.push_back(i);
        short_list<int> copy = list;
        copy[0] = 9;
        BOOST_TEST(list[0] == 0);
        short_list<int> moved = std::move(copy);
        BOOST_TEST(moved[0] == 9);
        BOOST_TEST(copy.size() == 0u);
        copy = moved;
        BOOST_TEST((copy == moved));
        moved = std::move(list);
        BOOST_TEST(moved[0] == 0);
        BOOST_TEST(moved.size() == static_cast<std::size_t>(size));
        moved = *&moved;
        BOOST_TEST(moved.size() == static_cast<std::size_t>(size));
    }
}

BOOST_AUTO_TEST_CASE(a_list_is_made_longer_with_zeros_and_shorter_from_its_end) {
    short_list<int, 2> list{4, 5, 6};
    BOOST_TEST(list.size() == 3u);
    list.resize(5);
    int const longer[] = {4, 5, 6, 0, 0};
    BOOST_TEST(std::equal(list.begin(), list.end(), longer, longer + 5));
    list.resize(1);
    list.resize(2);
    int const again[] = {4, 0};
    BOOST_TEST(std::equal(list.begin(), list.end(), again, again + 2));
    for (int& element : list)
        ++element;
    BOOST_TEST(list[1] == 1);
    list.clear();
    BOOST_TEST(list.empty());
    BOOST_TEST((list == short_list<int, 2>{}));
}

static_assert([] {
    short_list<int> list;
    for (int i = 0; i < 9; ++i)
        list.push_back(i);
    short_list<int> const copy = list;
    list = short_list<int>();
    return copy.size() == 9 && copy[8] == 8 && list.size() == 0;
}());

BOOST_AUTO_TEST_SUITE_END()
