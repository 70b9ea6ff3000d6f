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
    BOOST_TEST(to_string(placement(shard{1, even})) == "shard 1 even");
    BOOST_TEST(to_string(placement(0, {3, 1, 4})) == "shard 0 by 3, 1, 4");
    BOOST_TEST(to_string(placement(strided_shard{1})) == "strided shard 1");
}

BOOST_AUTO_TEST_CASE(a_placement_is_a_copy_unless_it_says_otherwise) {
    BOOST_TEST((placement() == placement(replicate{})));
    BOOST_TEST(!placement().cuts());
    BOOST_TEST(!placement(only{0}).cuts());
    BOOST_TEST(placement(shard{0}).cuts());
    BOOST_TEST(placement(shard{0, even}).cuts());
    BOOST_TEST(placement(0, {1}).cuts());
}

BOOST_AUTO_TEST_CASE(sizes_may_be_known_to_the_compiler_or_not) {
    BOOST_TEST((placement(shard{1, {2, 5}}) == placement(1, {2, 5})));
    BOOST_TEST((placement(shard{1, {2, 5}}) != placement(1, {5, 2})));
    BOOST_TEST((placement(shard{1, {7}}) == placement(1, {7})));
    std::vector<placement> const mixed{shard{0}, shard{1, even}, shard{0, {3, 4, 1}}, replicate{}};
    BOOST_TEST(to_string(mixed[2]) == "shard 0 by 3, 4, 1");
}

BOOST_AUTO_TEST_CASE(strided_shards_cut_last_in_the_order_of_the_mesh) {
    BOOST_TEST((cut_order({strided_shard{0}, shard{0}, strided_shard{1}, replicate{}}) ==
                index_vector{1, 3, 0, 2}));
    BOOST_TEST((placement(strided_shard{0}) != placement(shard{0})));
}

BOOST_AUTO_TEST_SUITE_END()
