// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/placement.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_placement)

BOOST_AUTO_TEST_CASE(placements_print) {
    BOOST_TEST(to_string(placement(replicate{})) == "replicate");
    BOOST_TEST(to_string(placement(only{2})) == "only 2");
    BOOST_TEST(to_string(placement(shard{0})) == "shard 0");
    BOOST_TEST(to_string(placement(shard{1, split_rule::even})) == "shard 1 even");
    BOOST_TEST(to_string(placement(0, {3, 1, 4})) == "shard 0 by 3, 1, 4");
    BOOST_TEST(to_string(placement(strided_shard{1})) == "strided shard 1");
}

BOOST_AUTO_TEST_CASE(a_placement_is_a_copy_unless_it_says_otherwise) {
    BOOST_TEST((placement() == placement(replicate{})));
    BOOST_TEST(!placement().cuts());
    BOOST_TEST(!placement(only{0}).cuts());
    BOOST_TEST(placement(shard{0}).cuts());
    BOOST_TEST(placement(shard{0, split_rule::even}).cuts());
    BOOST_TEST(placement(0, {1}).cuts());
}

BOOST_AUTO_TEST_CASE(sizes_in_a_type_are_sizes_in_a_list) {
    BOOST_TEST((placement(shard_sizes{1, {2, 5}}) == placement(1, {2, 5})));
    BOOST_TEST((placement(shard_sizes{1, {2, 5}}) != placement(1, {5, 2})));
}

BOOST_AUTO_TEST_CASE(strided_shards_cut_last_in_the_order_of_the_mesh) {
    BOOST_TEST((cut_order({strided_shard{0}, shard{0}, strided_shard{1}, replicate{}}) ==
                index_vector{1, 3, 0, 2}));
    BOOST_TEST((placement(strided_shard{0}) != placement(shard{0})));
}

BOOST_AUTO_TEST_SUITE_END()
