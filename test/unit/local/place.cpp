// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/local/place.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(local_place)

BOOST_AUTO_TEST_CASE(a_box_counts_from_its_own_offset_in_the_strides_of_its_tensor) {
    shard_table table(2);
    table.push_back(0, {{2, 3}, {4, 5}});
    BOOST_TEST((place_in_shard(table, 0, {2, 3}, {5, 1}) == memory_place{0, {5, 1}}));
    BOOST_TEST((place_in_shard(table, 0, {4, 4}, {5, 1}) == memory_place{11, {5, 1}}));
    BOOST_TEST((place_in_shard(table, 0, {4, 4}, {1, 4}) == memory_place{6, {1, 4}})); // by columns
    BOOST_TEST((place_in_shard(table, 0, {4, 4}, {-5, 1}) == memory_place{-9, {-5, 1}}));
}

BOOST_AUTO_TEST_CASE(a_flat_shard_counts_from_the_beginning_of_its_range) {
    // Rows 2 and 3 of a matrix of 5 columns; elements 3 to 8 of them.
    shard_table table(2);
    table.push_back(0, {{2, 0}, {2, 5}}, flat_range{3, 9});
    BOOST_TEST((place_in_shard(table, 0, {2, 3}, {1}) == memory_place{0, {5, 1}}));
    BOOST_TEST((place_in_shard(table, 0, {3, 0}, {1}) == memory_place{2, {5, 1}}));
    BOOST_TEST((place_in_shard(table, 0, {3, 3}, {2}) == memory_place{10, {10, 2}}));
}

BOOST_AUTO_TEST_CASE(a_scalar_has_one_place) {
    shard_table table(0);
    table.push_back(0, {});
    table.push_back(0, {}, flat_range{0, 1});
    BOOST_TEST((place_in_shard(table, 0, {}, {}) == memory_place{0, {}}));
    BOOST_TEST((place_in_shard(table, 1, {}, {1}) == memory_place{0, {}}));
}

BOOST_AUTO_TEST_SUITE_END()
