// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/sorting.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

using reshard::detail::class_table;
using reshard::detail::sort_by;

BOOST_AUTO_TEST_SUITE(core_sorting)

BOOST_AUTO_TEST_CASE(equal_values_keep_their_order) {
    std::mt19937 random(7);
    for (std::size_t const size : {0u, 1u, 2u, 5u, 1000u}) {
        std::vector<std::pair<int, std::string>> values;
        for (std::size_t i = 0; i < size; ++i)
            values.emplace_back(random() % 4, std::to_string(i));
        auto expected = values;
        auto const by_number = [](auto const& a, auto const& b) { return a.first < b.first; };
        std::stable_sort(expected.begin(), expected.end(), by_number);
        sort_by(values, by_number);
        BOOST_TEST((values == expected));
    }
}

BOOST_AUTO_TEST_CASE(the_others_stay_if_some_are_sorted) {
    std::vector<int> values{5, 4, 3, 2, 1};
    sort_by(std::span(values).subspan(1, 3), [](int a, int b) { return a < b; });
    BOOST_TEST(values == (std::vector{5, 2, 3, 4, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_table_finds_the_classes_that_it_numbered) {
    for (bool const reserves : {false, true})
        for (std::uint64_t const digests : {1u, 3u, 1000u}) {
            class_table table;
            if (reserves)
                table.reserve(500);
            auto const is_it = [&](std::uint64_t value) {
                return [value](std::uint32_t number) { return number == value; };
            };
            for (std::uint64_t value = 0; value < 500; ++value) {
                BOOST_TEST(table.find_number(value % digests, is_it(value)) == class_table::none);
                BOOST_TEST(table.number(value % digests, is_it(value)) == value);
            }
            for (std::uint64_t value = 0; value < 500; ++value)
                BOOST_TEST(table.find_number(value % digests, is_it(value)) == value);
        }
}

BOOST_AUTO_TEST_SUITE_END()
