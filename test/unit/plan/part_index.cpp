// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/shard_index.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(plan_part_index)

BOOST_AUTO_TEST_CASE(replicas_stand_together_in_the_order_of_shards) {
    shard_table table(1);
    table.push_back(0, {{4}, {2}});
    table.push_back(1, {{0}, {4}});
    table.push_back(2, {{4}, {2}});
    part_index const index = index_parts(table);
    BOOST_TEST_REQUIRE(index.boxes.size() == 2u);
    BOOST_TEST((index.boxes[0] == box{{4}, {2}}));
    BOOST_TEST(index.replicas(0) == 2u);
    BOOST_TEST((index.replica(0, 0) == shard_part{0, 0}));
    BOOST_TEST((index.replica(0, 1) == shard_part{2, 0}));
    BOOST_TEST(index.replicas(1) == 1u);
    BOOST_TEST((index.replica(1, 0) == shard_part{1, 0}));
}

BOOST_AUTO_TEST_CASE(a_flat_shard_is_the_boxes_that_it_is) {
    shard_table table(2);
    table.push_back(0, {{0, 0}, {1, 4}});
    table.push_back(1, {{0, 0}, {3, 4}}, flat_range{4, 10}); // row 1, and half of row 2
    table.push_back(2, {{2, 2}, {1, 2}});
    part_index const index = index_parts(table);
    BOOST_TEST_REQUIRE(index.boxes.size() == 4u);
    BOOST_TEST((index.boxes[1] == box{{1, 0}, {1, 4}}));
    BOOST_TEST((index.boxes[2] == box{{2, 0}, {1, 2}}));
    BOOST_TEST((index.replica(1, 0) == shard_part{1, 0}));
    BOOST_TEST((index.replica(2, 0) == shard_part{1, 1}));
    BOOST_TEST((index.replica(3, 0) == shard_part{2, 0}));
}

BOOST_AUTO_TEST_CASE(a_box_and_a_flat_range_of_the_same_elements_are_replicas) {
    shard_table table(2);
    table.push_back(0, {{1, 0}, {2, 4}});
    table.push_back(1, {{0, 0}, {3, 4}}, flat_range{4, 12});
    part_index const index = index_parts(table);
    BOOST_TEST(index.boxes.size() == 1u);
    BOOST_TEST(index.replicas(0) == 2u);
}

BOOST_AUTO_TEST_CASE(blocks_of_a_shard_are_one_box_or_a_box_each) {
    shard_table table(1);
    table.push_back(0, {{0}, {6}}, {}, {{0, 2, 4}}); // 0, 1, 4, 5
    table.push_back(1, {{0}, {6}});
    table.push_back(2, {{0}, {6}}, {}, {{0, 2, 4}});
    table.push_back(3, {{0}, {6}}, {}, {{0, 1, 5}}); // 0, 5
    part_index const whole = index_parts(table, false);
    BOOST_TEST_REQUIRE(whole.boxes.size() == 3u);
    BOOST_TEST(whole.replicas(0) == 2u);
    BOOST_TEST((whole.replica(0, 1) == shard_part{2, 0}));
    BOOST_TEST((whole.cycles[0] == axis_cycles{{0, 2, 4}}));
    BOOST_TEST(whole.cycles[1].empty());
    BOOST_TEST((whole.cycles[2] == axis_cycles{{0, 1, 5}}));
    part_index const split = index_parts(table);
    BOOST_TEST(split.boxes.size() == 5u); // 0 1, 4 5, all, 0, 5
    BOOST_TEST(split.cycles.empty());
}

BOOST_AUTO_TEST_CASE(an_index_visits_the_blocks_that_overlap) {
    shard_table table(1);
    table.push_back(0, {{1}, {14}}, {}, {{0, 2, 4}}); // 1 2, 5 6, 9 10, 13 14
    shard_index const index(&table);
    std::vector<box> parts;
    index.for_each_overlap({{2}, {9}}, [&](std::uint32_t, box const& part) { // 2 to 10
        parts.push_back(part);
    });
    BOOST_TEST((parts == std::vector<box>{{{2}, {1}}, {{5}, {2}}, {{9}, {2}}}));
    parts.clear();
    index.for_each_overlap({{3}, {2}},
                           [&](std::uint32_t, box const& part) { parts.push_back(part); });
    BOOST_TEST(parts.empty());
}

BOOST_AUTO_TEST_CASE(an_empty_table_has_an_empty_index) {
    part_index const index = index_parts(shard_table(3));
    BOOST_TEST(index.boxes.size() == 0u);
    BOOST_TEST(index.parts.empty());
}

BOOST_AUTO_TEST_SUITE_END()
