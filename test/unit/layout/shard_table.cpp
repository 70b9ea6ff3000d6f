// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/shard_table.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_table_)

BOOST_AUTO_TEST_CASE(shards_are_found_in_the_order_of_insertion) {
    shard_table table(2);
    table.push_back(3, {{0, 0}, {2, 6}});
    table.push_back(1, {{2, 0}, {2, 6}});
    BOOST_TEST(table.size() == 2u);
    BOOST_TEST(table.ndim() == 2u);
    BOOST_TEST(table.holder(0) == 3u);
    BOOST_TEST(table.holder(1) == 1u);
    BOOST_TEST((table.region(1) == box{{2, 0}, {2, 6}}));
    BOOST_TEST(!table.flat(0));
    BOOST_TEST(table.all_boxes());
}

BOOST_AUTO_TEST_CASE(flat_shards_may_stand_between_others) {
    shard_table table(1);
    table.push_back(0, {{0}, {4}});
    table.push_back(1, {{4}, {6}}, flat_range{0, 0});
    table.push_back(2, {{4}, {6}}, flat_range{2, 5});
    table.push_back(3, {{0}, {4}});
    BOOST_TEST(!table.all_boxes());
    BOOST_TEST(!table.flat(0));
    BOOST_TEST((table.flat(1) == flat_range{0, 0}));
    BOOST_TEST((table.flat(2) == flat_range{2, 5}));
    BOOST_TEST(!table.flat(3));
    BOOST_TEST((table.boxes(0) == std::vector<box>{{{0}, {4}}}));
    BOOST_TEST(table.boxes(1).empty());
    BOOST_TEST((table.boxes(2) == std::vector<box>{{{6}, {3}}}));
}

BOOST_AUTO_TEST_CASE(tables_of_scalars_have_rows_without_numbers) {
    shard_table table(0);
    table.push_back(5, {});
    table.push_back(6, {});
    BOOST_TEST(table.size() == 2u);
    BOOST_TEST((table.boxes(1) == std::vector<box>{{}}));
}

BOOST_AUTO_TEST_CASE(tables_with_equal_shards_are_equal) {
    shard_table a(1), b(1);
    a.push_back(0, {{0}, {4}});
    b.push_back(0, {{0}, {4}});
    BOOST_TEST((a == b));
    b.push_back(1, {{0}, {4}});
    BOOST_TEST((a != b));
    a.push_back(2, {{0}, {4}});
    BOOST_TEST((a != b));
    BOOST_TEST((a.regions() == b.regions()));
}

BOOST_AUTO_TEST_SUITE_END()
