// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/short_list.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;

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

BOOST_AUTO_TEST_SUITE_END()
