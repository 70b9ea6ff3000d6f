// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/gather_layout.hpp>

#include <reshard/layout/distribution.hpp>
#include <reshard/layout/placement.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(group_gather_layout)

namespace {

/// The facts about a tensor that the ranks of a mesh learn from each other's shards.
catalog_entry learned(distribution const& distribution) {
    std::vector<std::vector<cut_tensor>> tensors;
    for (holder_t rank = 0; rank < distribution.ranks().rank_count(); ++rank)
        tensors.push_back(cuts_of({*descriptor_of("w", data_type::f32, distribution, rank)}));
    return merge_cuts(tensors)[0];
}

} // namespace

BOOST_AUTO_TEST_CASE(parts_are_where_shards_begin) {
    catalog_entry const rows =
        learned(distribution(mesh{{"tp", 3}}, {shard{0}}, index_vector{7, 4}));
    BOOST_TEST((rows.parts == index_vector{3, 1}));
    BOOST_TEST(!rows.is_even(0));
    BOOST_TEST(rows.is_even(1));
}

BOOST_AUTO_TEST_CASE(each_block_of_a_cycle_is_a_part) {
    catalog_entry const even =
        learned(distribution(mesh{{"p", 2}}, {block_cyclic{0, 2}}, index_vector{16}));
    BOOST_TEST((even.parts == index_vector{8}));
    BOOST_TEST(even.is_even(0));
    catalog_entry const uneven =
        learned(distribution(mesh{{"p", 2}}, {block_cyclic{0, 2}}, index_vector{7}));
    BOOST_TEST((uneven.parts == index_vector{4})); // 0-2, 2-4, 4-6 and 6-7
    BOOST_TEST(!uneven.is_even(0));
}

BOOST_AUTO_TEST_CASE(shards_without_elements_are_no_parts) {
    catalog_entry const few = learned(distribution(mesh{{"tp", 4}}, {shard{0}}, index_vector{2}));
    BOOST_TEST((few.parts == index_vector{2}));
}

BOOST_AUTO_TEST_SUITE_END()
