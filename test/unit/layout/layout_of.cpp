// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout_of.hpp>

#include "support/placements.hpp"
#include "support/says.hpp"
#include "support/trials.hpp"

#include <reshard/layout/equal_shares.hpp>
#include <reshard/layout/shards_of.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(layout_layout_of)

namespace {

/// Whether two layouts of the same keys have the same shards, in one form or the other.
bool have_equal_shards(layout const& a, layout const& b) {
    return std::ranges::equal(a.tensors, b.tensors, [&](auto const& x, auto const& y) {
        return x.key == y.key && x.dtype == y.dtype && a.shape_of(x) == b.shape_of(y) &&
               listed(a.spread_of(x)) == listed(b.spread_of(y));
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(tensors_that_are_spread_alike_share_it) {
    mesh const ranks{{"pp", 2}, {"tp", 3}};
    auto const on_stage = [&](std::string key, index_t stage, index_t rows) {
        return sharding_of(std::move(key), data_type::bf16,
                           distribution(ranks, {only{stage}, shard{0}}, {rows, 4}));
    };
    layout const layout = layout_of(
        {on_stage("b", 0, 6), on_stage("a", 0, 6), on_stage("d", 0, 9), on_stage("c", 1, 6)});
    BOOST_TEST(layout.holders == 6u);
    BOOST_TEST_REQUIRE(layout.tensors.size() == 4u);
    BOOST_TEST(layout.tensors[0].key == "a");
    BOOST_TEST(layout.tensors[0].spread == layout.tensors[1].spread);
    BOOST_TEST(layout.spreads.size() == 3u); // c is held by others, d has other rows
    BOOST_TEST((layout.spread_of(layout.tensors[3]).view().region(2) == box{{6, 0}, {3, 4}}));
}

BOOST_AUTO_TEST_CASE(a_key_stands_once) {
    distribution const distribution({{"tp", 2}}, {shard{0}}, {4});
    tensor_sharding const w = sharding_of("w", data_type::f32, distribution);
    BOOST_CHECK_EXCEPTION(layout_of({w, w}), error,
                          test::says(errc::bad_layout,
                                     "'w' of shape [4] appears twice in the layout; list each "
                                     "tensor once, and number the tensors of experts and layers"));
}

BOOST_AUTO_TEST_CASE(the_layout_is_what_the_ranks_have_and_so_is_its_catalog) {
    for (std::uint64_t seed = 0; seed < test::trials(500); ++seed) {
        oracle::random_numbers random(seed);
        mesh const ranks = test::any_mesh(random);
        std::vector<tensor_sharding> placed;
        layout_builder expected(ranks.rank_count());
        for (char key = 'a'; key < 'e'; ++key) {
            distribution const distribution =
                test::any_placement_of(random, ranks, test::any_shape(random));
            placed.push_back(sharding_of(std::string(1, key), data_type::f32, distribution));
            expected.add(std::string(1, key), data_type::f32,
                         {distribution.shape(), table_of(distribution)});
        }
        random.shuffle(placed);
        layout const layout = layout_of(placed), held_layout = std::move(expected).take();
        BOOST_TEST(have_equal_shards(layout, held_layout), "seed " << seed);
        BOOST_TEST((catalog_of(layout) == catalog_of(held_layout)), "seed " << seed);
    }
}

BOOST_AUTO_TEST_CASE(what_is_cut_flat_is_computed_too) {
    // Three ranks share six elements flat; the other tensor is cut by rows.
    mesh const ranks{{"dp", 3}};
    layout const full_layout =
        layout_of({sharding_of("flat", data_type::f32, distribution(ranks, {replicate{}}, {2, 3}),
                               flat_sharing{.axes = 1, .slices = {}}),
                   sharding_of("rows", data_type::f32, distribution(ranks, {shard{0}}, {2, 3}))});
    BOOST_TEST(full_layout.spread_of(full_layout.tensors[0]).view().grids() != nullptr);
    BOOST_TEST(full_layout.spread_of(full_layout.tensors[1]).view().grid() != nullptr);
    layout const layout = listed(full_layout);
    BOOST_TEST((layout.shards_of(layout.tensors[0]).flat(1) == flat_range{2, 4}));
    BOOST_TEST((catalog_of(full_layout) == catalog_of(layout)));
}

BOOST_AUTO_TEST_CASE(one_tensor_is_laid_out_in_one_call) {
    // Rows 0 to 2 and 3 to 4, on ranks 0 and 1, and 2 and 3.
    mesh const grid{{"dp", 2}, {"tp", 2}};
    layout const plain = layout_of("A", data_type::f64, {5, 3}, grid, {replicate{}, shard{0}});
    BOOST_TEST((shards_of(plain, 3) == std::vector<shard_descriptor>{
                                           {"A", data_type::f64, {5, 3}, {{3, 0}, {2, 3}}, {}}}));
    layout const listed_ranks = layout_of("A", data_type::f64, {5, 3},
                                          rank_mesh(grid, {4, 0, 2, 1}), {replicate{}, shard{0}});
    BOOST_TEST(shards_of(listed_ranks, 3).empty());
    BOOST_TEST((shards_of(listed_ranks, 4).front().region == box{{0, 0}, {3, 3}}));
    BOOST_CHECK_EXCEPTION(
        layout_of("A", data_type::f64, {5, 3}, {{"tp", 2}}, {shard{2}}), error,
        says(errc::bad_layout, "'A': mesh axis 'tp' cuts axis 2 of a tensor of 2 axes"));
}

BOOST_AUTO_TEST_CASE(a_rank_that_a_layout_does_not_have_holds_nothing) {
    layout const halves = layout_of("A", data_type::f64, {4}, {{"tp", 2}}, {shard{0}});
    for (index_t const rank : {index_t{-1}, index_t{2}, index_t{1} << 32})
        BOOST_TEST(shards_of(halves, rank).empty(), rank);
    tensor_sharding const tensor =
        sharding_of("A", data_type::f64, distribution(mesh{{"tp", 2}}, {shard{0}}, {4}));
    for (index_t const rank : {index_t{-1}, index_t{2}, index_t{1} << 32})
        BOOST_TEST(shards_of(tensor, rank).empty(), rank);
    BOOST_CHECK_EXCEPTION(
        axis_share({{"tp", 2}}, -1, "tp", 0), error,
        says(errc::bad_layout, "rank -1 is outside the mesh tp=2, which has 2 ranks"));
}

BOOST_AUTO_TEST_SUITE_END()
