// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/axis_joins.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(core_factor_rows)

BOOST_AUTO_TEST_CASE(only_the_rows_that_were_added_are_found) {
    factor_rows rows;
    BOOST_TEST(rows.find(0) == nullptr);
    BOOST_TEST(rows.bytes() == 0u);
    rows.push_back({2, {0, 0b10}, {2, 3}, {0, 0}, {}});
    rows.push_back({7, {0b10, 0}, {4, 5}, {1}, {}});
    BOOST_TEST(rows.find(0) == nullptr);
    BOOST_TEST(rows.find(3) == nullptr);
    BOOST_TEST(rows.find(8) == nullptr);
    BOOST_REQUIRE(rows.find(2) != nullptr);
    BOOST_TEST((rows.find(2)->extent == index_vector{2, 3}));
    BOOST_REQUIRE(rows.find(7) != nullptr);
    BOOST_TEST((rows.find(7)->source_offset == index_vector{1}));
    BOOST_TEST(rows.bytes() >= 2 * sizeof(factor_row));
}

BOOST_AUTO_TEST_SUITE_END()
