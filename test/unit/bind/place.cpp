// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/bind.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(local_place)

namespace {

shard_table table_of(box const& region, std::optional<flat_range> const& flat = {}) {
    shard_table table(region.ndim());
    table.push_back(0, region, flat);
    return table;
}

/// 3 x 5 elements from row 2, column 4 on.
box const block{{2, 4}, {3, 5}};

} // namespace

BOOST_AUTO_TEST_CASE(the_first_element_of_a_shard_lies_first) {
    BOOST_TEST((place_in_shard(table_of(block), 0, {2, 4}, {5, 1}) == memory_place{0, {5, 1}}));
}

BOOST_AUTO_TEST_CASE(elements_of_a_box_are_found_by_the_strides_of_its_tensor) {
    // One row and two columns after the first.
    BOOST_TEST((place_in_shard(table_of(block), 0, {3, 6}, {5, 1}) == memory_place{7, {5, 1}}));
    BOOST_TEST((place_in_shard(table_of(block), 0, {3, 6}, {1, 3}) == memory_place{7, {1, 3}}));
    BOOST_TEST((place_in_shard(table_of(block), 0, {3, 6}, {40, 3}) == memory_place{46, {40, 3}}));
    BOOST_TEST((place_in_shard(table_of(block), 0, {3, 6}, {-5, 1}) == memory_place{-3, {-5, 1}}));
}

BOOST_AUTO_TEST_CASE(each_shard_of_a_table_is_counted_from_its_own_offset) {
    shard_table table = table_of(block);
    table.push_back(1, {{0, 0}, {6, 2}});
    BOOST_TEST((place_in_shard(table, 1, {3, 1}, {2, 1}) == memory_place{7, {2, 1}}));
}

BOOST_AUTO_TEST_CASE(a_scalar_has_a_place_without_strides) {
    BOOST_TEST((place_in_shard(table_of({}), 0, {}, {}) == memory_place{0, {}}));
}

BOOST_AUTO_TEST_CASE(a_flat_range_is_counted_from_its_begin) {
    // Elements 6 to 12 of the block: row 1 from its second column on, then three of row 2.
    shard_table const table = table_of(block, flat_range{6, 13});
    BOOST_TEST((place_in_shard(table, 0, {3, 5}, {1}) == memory_place{0, {5, 1}}));
    BOOST_TEST((place_in_shard(table, 0, {3, 8}, {1}) == memory_place{3, {5, 1}}));
    BOOST_TEST((place_in_shard(table, 0, {4, 4}, {1}) == memory_place{4, {5, 1}}));
    BOOST_TEST((place_in_shard(table, 0, {4, 6}, {1}) == memory_place{6, {5, 1}}));
}

BOOST_AUTO_TEST_CASE(a_flat_range_may_lie_in_steps) {
    shard_table const table = table_of(block, flat_range{6, 13});
    BOOST_TEST((place_in_shard(table, 0, {4, 5}, {2}) == memory_place{10, {10, 2}}));
    BOOST_TEST((place_in_shard(table, 0, {4, 5}, {-1}) == memory_place{-5, {-5, -1}}));
}

BOOST_AUTO_TEST_CASE(a_flat_range_of_three_axes_has_the_strides_of_its_block) {
    // 2 x 3 x 4 elements; number 17 is [1, 1, 1].
    shard_table const table = table_of({{0, 0, 8}, {2, 3, 4}}, flat_range{13, 24});
    BOOST_TEST((place_in_shard(table, 0, {1, 1, 9}, {1}) == memory_place{4, {12, 4, 1}}));
}

BOOST_AUTO_TEST_SUITE_END()
