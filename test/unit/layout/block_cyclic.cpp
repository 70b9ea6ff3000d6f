// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/placement.hpp>

#include "support/listed_layout.hpp"
#include "support/says.hpp"

#include <reshard/core/digest.hpp>
#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/replica.hpp>
#include <reshard/layout/shards_of.hpp>

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(layout_block_cyclic)

namespace {

/// The elements that each rank has, in the order in which its local array has them.
using dealt = std::vector<std::vector<index_t>>;

/// Of a tensor of one axis.
dealt dealt_by(distribution const& distribution) {
    dealt full_dealt;
    for (holder_t rank = 0; rank < distribution.ranks().rank_count(); ++rank) {
        full_dealt.emplace_back();
        shard_descriptor const shard = *descriptor_of("A", data_type::f64, distribution, rank);
        check(shard);
        for (box const& block : boxes_of(shard.region, shard.flat, shard.cycles))
            for (index_t i = block.offset[0]; i < block.end(0); ++i)
                full_dealt.back().push_back(i);
        BOOST_TEST(
            (local_shape(shard) == index_vector{static_cast<index_t>(full_dealt.back().size())}));
    }
    return full_dealt;
}

dealt dealt_out(index_t ranks, index_t block, index_t extent) {
    return dealt_by(distribution(mesh{{"p", ranks}}, {block_cyclic{0, block}}, {extent}));
}

/// Local extents of each rank of a matrix.
std::vector<index_vector> local_shapes(distribution const& distribution) {
    std::vector<index_vector> shapes;
    for (holder_t rank = 0; rank < distribution.ranks().rank_count(); ++rank)
        shapes.push_back(local_shape(*descriptor_of("A", data_type::f64, distribution, rank)));
    return shapes;
}

void refused(mesh const& ranks, std::vector<placement> const& placements, std::string const& text) {
    BOOST_CHECK_EXCEPTION(distribution(ranks, placements, {10, 4}, "A"), error,
                          says(errc::bad_layout, text));
}

} // namespace

BOOST_AUTO_TEST_CASE(block_b_goes_to_coordinate_b_mod_p) {
    BOOST_TEST((dealt_out(2, 2, 9) == dealt{{0, 1, 4, 5, 8}, {2, 3, 6, 7}}));
    BOOST_TEST((dealt_out(3, 1, 7) == dealt{{0, 3, 6}, {1, 4}, {2, 5}}));
    BOOST_TEST((dealt_out(3, 2, 11) == dealt{{0, 1, 6, 7}, {2, 3, 8, 9}, {4, 5, 10}}));
}

BOOST_AUTO_TEST_CASE(the_first_block_may_be_at_any_coordinate) {
    auto const from = [](index_t first, index_t ranks, index_t block, index_t extent) {
        return distribution(mesh{{"p", ranks}}, {block_cyclic{0, block, first}}, {extent});
    };
    BOOST_TEST((dealt_by(from(1, 2, 2, 9)) == dealt{{2, 3, 6, 7}, {0, 1, 4, 5, 8}}));
    BOOST_TEST((dealt_by(from(2, 3, 1, 7)) == dealt{{1, 4}, {2, 5}, {0, 3, 6}}));
    BOOST_TEST((dealt_by(from(3, 4, 3, 7)) == dealt{{3, 4, 5}, {6}, {}, {0, 1, 2}}));
    BOOST_TEST((holders_of(from(3, 4, 2, 20), {{6}, {4}}) == std::vector<holder_t>{2, 3}));
    BOOST_TEST((holders_of(from(1, 4, 2, 20), {{4}, {3}}) == std::vector<holder_t>{0, 3}));
    BOOST_TEST(to_string(placement(block_cyclic{1, 36, 2})) == "block cyclic 1 by 36 from 2");
}

BOOST_AUTO_TEST_CASE(ranks_without_a_block_hold_nothing) {
    BOOST_TEST((dealt_out(4, 3, 7) == dealt{{0, 1, 2}, {3, 4, 5}, {6}, {}}));
    BOOST_TEST((dealt_out(2, 5, 3) == dealt{{0, 1, 2}, {}})); // a block larger than the extent
    BOOST_TEST((dealt_out(2, 5, 0) == dealt{{}, {}}));
    BOOST_TEST((dealt_out(1, 2, 5) == dealt{{0, 1, 2, 3, 4}}));
    distribution const distribution(mesh{{"p", 4}}, {block_cyclic{0, 3}}, {7});
    BOOST_TEST((distribution.region(3) == box{{7}, {0}})); // as other placements have it
}

BOOST_AUTO_TEST_CASE(one_block_a_rank_is_a_plain_box) {
    // So that equal elements are equal shards, however they were made.
    distribution const how(mesh{{"p", 2}}, {block_cyclic{0, 5}}, {10});
    for (holder_t const rank : {0u, 1u})
        BOOST_TEST((*descriptor_of("A", data_type::f64, how, rank) ==
                    *descriptor_of("A", data_type::f64,
                                   distribution(mesh{{"p", 2}}, {shard{0}}, {10}), rank)));
    distribution const alone(mesh{{"p", 1}}, {block_cyclic{0, 2}}, {10});
    BOOST_TEST((*descriptor_of("A", data_type::f64, alone, 0) ==
                shard_descriptor{"A", data_type::f64, {10}, {{0}, {10}}}));
}

BOOST_AUTO_TEST_CASE(local_extents_are_those_of_numroc) {
    // 1 x 3, blocks of 5 x 4, a matrix of 13 x 21: numroc(21, 4, q, 0, 3) = 8, 8, 5.
    BOOST_TEST((local_shapes(distribution({{"p", 1}, {"q", 3}},
                                          {block_cyclic{0, 5}, block_cyclic{1, 4}}, {13, 21})) ==
                std::vector<index_vector>{{13, 8}, {13, 8}, {13, 5}}));
    // 2 x 3: numroc(13, 5, p, 0, 2) = 8, 5.
    BOOST_TEST((local_shapes(distribution({{"p", 2}, {"q", 3}},
                                          {block_cyclic{0, 5}, block_cyclic{1, 4}}, {13, 21})) ==
                std::vector<index_vector>{{8, 8}, {8, 8}, {8, 5}, {5, 8}, {5, 8}, {5, 5}}));
    // The grid of 16384 x 8192 in blocks of 36 that benchmarks use: 455 blocks and 4 rows.
    auto const large = local_shapes(distribution(
        {{"p", 2}, {"q", 2}}, {block_cyclic{0, 36}, block_cyclic{1, 36}}, {16384, 8192}));
    BOOST_TEST((large ==
                std::vector<index_vector>{{8208, 4104}, {8208, 4088}, {8176, 4104}, {8176, 4088}}));
}

BOOST_AUTO_TEST_CASE(blocks_stand_beside_other_placements) {
    // A half of each four rows of a shard, twice.
    distribution const distribution({{"dp", 2}, {"tp", 2}, {"p", 2}},
                                    {replicate{}, shard{0}, block_cyclic{0, 2}}, {14});
    BOOST_TEST((dealt_by(distribution) == dealt{{0, 1, 4, 5},
                                                {2, 3, 6},
                                                {7, 8, 11, 12},
                                                {9, 10, 13},
                                                {0, 1, 4, 5},
                                                {2, 3, 6},
                                                {7, 8, 11, 12},
                                                {9, 10, 13}}));
    BOOST_TEST((holders_of(distribution, {{4}, {2}}) == std::vector<holder_t>{0, 4}));
    BOOST_TEST((holders_of(distribution, {{4}, {2}}, copies::main) == std::vector<holder_t>{0}));
    BOOST_TEST((holders_of(distribution, {{6}, {3}}) == std::vector<holder_t>{1, 2, 5, 6}));
}

BOOST_AUTO_TEST_CASE(holders_wrap_around_and_come_in_order) {
    distribution const distribution(mesh{{"p", 4}}, {block_cyclic{0, 2}}, {20});
    BOOST_TEST((holders_of(distribution, {{6}, {4}}) == std::vector<holder_t>{0, 3}));
    BOOST_TEST((holders_of(distribution, {{2}, {3}}) == std::vector<holder_t>{1, 2}));
    BOOST_TEST((holders_of(distribution, {{5}, {12}}) == std::vector<holder_t>{0, 1, 2, 3}));
    BOOST_TEST(holders_of(distribution, {{5}, {0}}).empty());
}

BOOST_AUTO_TEST_CASE(blocks_are_the_last_cut_of_an_axis) {
    mesh const grid{{"p", 2}, {"q", 2}};
    refused(grid, {block_cyclic{0, 2}, shard{0}},
            "'A': axis 0: mesh axis 'q' cuts an axis that mesh axis 'p' has cut into cyclic "
            "blocks; block_cyclic must be the last cut");
    refused(grid, {block_cyclic{0, 2}, block_cyclic{0, 1}},
            "'A': axis 0: mesh axis 'q' cuts an axis that mesh axis 'p' has cut into cyclic "
            "blocks; block_cyclic must be the last cut");
    refused(grid, {strided_shard{0}, block_cyclic{0, 1}},
            "'A': axis 0: mesh axis 'p' cuts an axis that mesh axis 'q' has cut into cyclic "
            "blocks; block_cyclic must be the last cut");
    refused(grid, {block_cyclic{0, 0}, replicate{}},
            "'A': axis 0: mesh axis 'p' has blocks of 0 elements; at least 1 is needed");
    for (index_t const first : {-1, 2})
        refused(grid, {block_cyclic{0, 1, first}, replicate{}},
                "'A': mesh axis 'p' has the coordinates 0 to 1, not " + std::to_string(first));
    refused(grid, {block_cyclic{2, 1}, replicate{}},
            "'A': mesh axis 'p' cuts axis 2 of a tensor of 2 axes");
    distribution const blocks(grid, {block_cyclic{0, 2}, replicate{}}, {10, 4});
    BOOST_CHECK_EXCEPTION(
        check(sharding_of("A", data_type::f32, blocks, flat_sharing{.axes = 2, .slices = {}})),
        error,
        says(errc::bad_layout,
             "'A': axis 0: 2 ranks cannot divide cyclic blocks of 2 elements into flat slices"));
}

BOOST_AUTO_TEST_CASE(cyclic_shards_have_texts) {
    BOOST_TEST(to_string(placement(block_cyclic{1, 36})) == "block cyclic 1 by 36");
    distribution const distribution(mesh{{"p", 2}}, {block_cyclic{0, 2}}, {9});
    BOOST_TEST(to_string(distribution) == "[9] on p=2: block cyclic 0 by 2");
    BOOST_TEST(to_string(*descriptor_of("A", data_type::f64, distribution, 1)) ==
               "A: float64 [9] [2:8] axis 0: 2 of 4");
}

BOOST_AUTO_TEST_CASE(descriptors_of_other_blocks_are_refused) {
    shard_descriptor shard{"A", data_type::f64, {9}, {{0}, {9}}, {}, {{0, 2, 4}}};
    BOOST_CHECK_NO_THROW(check(shard));
    shard.cycles = {{0, 2, 5}};
    BOOST_CHECK_EXCEPTION(
        check(shard), error,
        says(errc::bad_layout,
             "'A': axis 0: blocks of 2 elements, 5 apart, do not fit a region of shape [9]"));
    shard.cycles = {{0, 2, 4}};
    shard.flat = flat_range{0, 3};
    BOOST_CHECK_EXCEPTION(check(shard), error,
                          says(errc::bad_layout,
                               "'A': flat range 0:3 and blocks along axis 0: 2 of 4; a "
                               "shard has one or the other"));
}

BOOST_AUTO_TEST_CASE(computed_and_listed_layouts_agree) {
    distribution const distribution({{"p", 2}, {"dp", 2}}, {block_cyclic{0, 2}, replicate{}},
                                    {9, 3});
    tensor_sharding const tensor = sharding_of("A", data_type::f32, distribution);
    layout const layout = layout_of({tensor});
    BOOST_TEST(
        (listed(layout).spreads[0].shards == decltype(layout.spreads[0].shards)(table_of(tensor))));
    for (holder_t rank = 0; rank < 4; ++rank)
        BOOST_TEST((shards_of(layout, rank) == shards_of(tensor, rank)));
    BOOST_TEST(shards_of(layout, 4).empty());
    // Five begins along the first axis, not of equal parts.
    catalog_entry const entry = catalog_of(layout)[0];
    BOOST_TEST((entry.parts == index_vector{5, 1}));
    BOOST_TEST(!entry.is_even(0));
    BOOST_TEST((catalog_of(listed(layout)) == catalog_of(layout)));
    // Of two copies each, the first one is the main one.
    BOOST_TEST((main_copies(test::shards_listed(layout, 0)) == std::vector<std::uint32_t>{0, 2}));
}

// What is counted by arithmetic is what a list of all blocks says.
BOOST_AUTO_TEST_CASE(parts_of_a_catalog_are_counted_as_if_blocks_were_listed) {
    for (index_t extent = 0; extent < 20; ++extent)
        for (index_t block = 1; block < 6; ++block)
            for (std::int64_t ranks = 1; ranks < 5; ++ranks) {
                index_t const first = (extent + block) % ranks;
                distribution const distribution(
                    {{"p", ranks}, {"q", 2}},
                    {block_cyclic{0, block, first}, block_cyclic{1, 2, extent % 2}}, {extent, 7});
                layout const computed = layout_of({sharding_of("A", data_type::f32, distribution)});
                layout in_blocks = listed(computed);
                in_blocks.spreads[0].shards = blocks_listed(computed.spreads[0]);
                BOOST_TEST((catalog_of(computed) == catalog_of(in_blocks)),
                           extent << " in blocks of " << block << " over " << ranks);
                BOOST_TEST((catalog_of(listed(computed)) == catalog_of(in_blocks)),
                           extent << " in blocks of " << block << " over " << ranks << ", listed");
            }
    // Blocks of two ranks that are dealt out otherwise: some begin at the same elements.
    shard_table mixed(1);
    mixed.push_back(0, {{0}, {10}}, {}, {{0, 2, 4}}); // 0, 4, 8
    mixed.push_back(1, {{2}, {7}}, {}, {{0, 1, 6}});  // 2, 8
    mixed.push_back(1, {{6}, {1}});
    catalog_entry const entry = entry_of("m", data_type::f32, {{10}, mixed});
    BOOST_TEST((entry.parts == index_vector{5})); // 0, 2, 4, 6, 8
    BOOST_TEST(entry.is_even(0));
    BOOST_TEST(entry.scattered.held == 3u);
}

BOOST_AUTO_TEST_CASE(blocks_can_be_listed_one_by_one) {
    distribution const distribution(mesh{{"p", 2}}, {block_cyclic{0, 2}}, {9});
    layout const layout = layout_of({sharding_of("A", data_type::f32, distribution)});
    shard_table expected(1);
    for (index_t const begin : {0, 4, 8})
        expected.push_back(0, {{begin}, {begin == 8 ? 1 : 2}});
    for (index_t const begin : {2, 6})
        expected.push_back(1, {{begin}, {2}});
    BOOST_TEST((blocks_listed(layout.spreads[0]) == expected));
}

BOOST_AUTO_TEST_CASE(tables_of_other_blocks_have_other_digests) {
    auto const table = [](axis_cycles const& cycles) {
        shard_table shard_table(1);
        shard_table.push_back(0, {{0}, {9}}, {}, cycles);
        return shard_table;
    };
    auto const digest = [](shard_table const& shards) {
        hasher hasher;
        tensor_shards(&shards).add_geometry(hasher);
        return hasher.value();
    };
    shard_table const a = table({{0, 2, 4}}), b = table({{0, 1, 4}}), c = table({});
    BOOST_TEST(digest(a) != digest(b));
    BOOST_TEST(digest(a) != digest(c));
    BOOST_TEST(!tensor_shards(&a).same_geometry(&b));
    BOOST_TEST(tensor_shards(&a).elements(0) == 5);
}

BOOST_AUTO_TEST_SUITE_END()
