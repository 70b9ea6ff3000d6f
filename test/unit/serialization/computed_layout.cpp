// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout.hpp>

#include "support/archives.hpp"
#include "support/shardings.hpp"
#include "support/trials.hpp"

#include <reshard/layout/layout_of.hpp>

#include <limits>
#include <optional>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(serialization_computed_layout)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

/// Cut by rows on the second of three stages, by sizes, flat, and a scalar on all ranks.
layout four_tensors() {
    mesh const ranks{{"pp", 3}, {"tp", 2}};
    return layout_of(
        {sharding_of("rows", data_type::bf16, distribution(ranks, {only{1}, shard{0}}, {40, 50})),
         sharding_of("sizes", data_type::f32,
                     distribution(ranks, {placement(1, {3, 0, 4}), replicate{}}, {2, 7})),
         sharding_of("flat", data_type::f32, distribution(ranks, {replicate{}, replicate{}}, {5}),
                     flat_sharing{.axes = 3, .slices = {}}),
         sharding_of("scalar", data_type::u64,
                     distribution(ranks, {replicate{}, replicate{}}, {}))});
}

/// The bytes of a layout of one tensor whose shards are a grid or a list of grids, without its
/// invariant.
template <class Grid>
struct any_layout {
    holder_t holders = 0;
    std::uint64_t spreads = 1;
    index_vector shape = {4, 6};
    std::uint8_t form = 1; ///< 1: a grid; 2: a list of them
    Grid grid;
    std::vector<tensor_layout> tensors = {{"w", data_type::i8, 0}};

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.holders, self.spreads, self.shape, self.form, self.grid, self.tensors);
    }
};

std::string said_of(auto const& values) {
    return said([&] { from_bytes<layout>(posing_as<layout>(values)); });
}

/// One tensor `w` of shape [4, 6] with a grid on from holder 0 of `holders`.
any_layout<grid_recipe> with_grid(holder_t holders, std::vector<held_axis> const& axes) {
    return {.holders = holders, .grid = {{4, 6}, 0, axes}};
}

/// The same, with a list of grids on two holders.
std::string said_of_grids(std::vector<flat_recipe> const& grids) {
    return said_of(any_layout<std::vector<flat_recipe>>{.holders = 2, .form = 2, .grid = grids});
}

std::string const itself = "corrupt_file: the archive of a layout contradicts itself: it ";

/// Two axes of 2 and 3 holders: the fast one, 1 apart, cuts the columns; the other one, 2 apart, copies.
std::vector<held_axis> const two_axes = {{shard{1}, 2, 1}, {replicate{}, 3, 2}};

} // namespace

BOOST_AUTO_TEST_CASE(layouts_come_back_as_they_were) {
    BOOST_TEST(comes_back(four_tensors()));
    BOOST_TEST(comes_back(layout{}));
    for (std::uint64_t seed = 0; seed < trials(300); ++seed) {
        oracle::random_numbers random(seed);
        layout const layout =
            layout_of({sharding_of("w", data_type::f32, any_distribution(random))});
        BOOST_TEST(comes_back(layout), "seed " << seed);
    }
}

BOOST_AUTO_TEST_CASE(a_thousand_keys_take_their_names_and_some_bytes) {
    std::vector<tensor_sharding> tensors;
    for (int i = 1000; i < 2000; ++i)
        tensors.push_back(sharding_of(
            "key" + std::to_string(i), data_type::f32,
            distribution({{"dp", 10'000}, {"tp", 10}}, {shard{0}, shard{1}}, {100'000, 100})));
    // A name of 7, its length of 8, a type and a number of 4; one way of spreading for all.
    BOOST_TEST(to_bytes(layout_of(tensors)).size() < 1000u * (7 + 8 + 1 + 4) + 200u);
}

BOOST_AUTO_TEST_CASE(parts_and_flat_slices_come_back_as_they_were) {
    for (std::uint64_t seed = 0; seed < trials(500); ++seed) {
        oracle::random_numbers random(seed);
        mesh const ranks = any_mesh(random);
        layout const layout = layout_of({any_sharding_of(random, "w", ranks, any_shape(random))});
        BOOST_TEST(comes_back(layout), "seed " << seed);
    }
}

BOOST_AUTO_TEST_CASE(a_tensor_over_100000_ranks_in_flat_slices_is_some_hundred_bytes) {
    distribution const distribution({{"dp", 100'000}}, {replicate{}}, {16384, 53248});
    layout const layout = layout_of(
        {sharding_of("w", data_type::bf16, distribution, flat_sharing{.axes = 1, .slices = {}})});
    BOOST_TEST(to_bytes(layout).size() < 300u);
}

BOOST_AUTO_TEST_CASE(a_grid_is_read_as_it_is_written) {
    layout const full_layout = from_bytes<layout>(posing_as<layout>(with_grid(6, two_axes)));
    shard_grid const& grid = *full_layout.spread_of(full_layout.tensors[0]).view().grid();
    BOOST_TEST(grid.size() == 6u);
    BOOST_TEST((grid.region(3) == box{{0, 3}, {4, 3}}));
    BOOST_TEST(grid.holder(3) == 3u);
}

BOOST_AUTO_TEST_CASE(archives_that_are_cut_off_are_refused) {
    BOOST_TEST(cut_archives_that_pass(four_tensors()) == 0);
}

BOOST_AUTO_TEST_CASE(damaged_archives_are_refused_or_read_as_another_layout) {
    BOOST_TEST(damaged_archives_that_pass(four_tensors()) > 0);
}

BOOST_AUTO_TEST_CASE(grids_that_contradict_themselves_are_refused) {
    BOOST_TEST(said_of(with_grid(5, two_axes)) ==
               itself + "has shards of 'w' on 6 ranks, but the layout has 5");
    BOOST_TEST(said_of(with_grid(6, {two_axes[0], {replicate{}, 3, 1}})) ==
               itself + "has a grid of 3 groups of 2 ranks, 1 rank apart; a grid has 2 or more "
                        "groups that do not overlap, on ranks up to 2147483647");
    for (index_t const extent : {0L, 1L, -2L, 4294967295L})
        BOOST_TEST(
            said_of(with_grid(6, {{shard{0, even}, extent, 1}})).starts_with(itself + "has "),
            extent);
    BOOST_TEST(said_of(with_grid(1, {{replicate{}, 4294967295, 4294967295}}))
                   .starts_with(itself + "has a grid of 4294967295 groups"));
    BOOST_TEST(said_of(with_grid(6, {{shard{2}, 2, 1}})) ==
               itself + "has placements that do not fit a tensor of shape [4, 6]");
    BOOST_TEST(said_of(with_grid(6, {{only{0}, 2, 1}})) ==
               itself + "has the invalid placement only 0 along a mesh axis");
    any_layout<grid_recipe> layout = with_grid(6, two_axes);
    layout.grid.shape = {4, 8};
    BOOST_TEST(said_of(layout) == itself + "has a grid of shape [4, 8] for 'w', shape [4, 6]");
}

BOOST_AUTO_TEST_CASE(lists_of_grids_that_contradict_themselves_are_refused) {
    // Rows 0 and 1 on rank 0 and 1 together, flat; row 2 and 3 on rank 0.
    using slices = std::optional<flat_slices>;
    auto const shared = [](slices how, std::uint8_t axis = 0, placement along = replicate{}) {
        return flat_recipe{{0, 0}, {{2, 6}, 0, {{along, 2, 1}}}, grid_sharing{{axis}, how}};
    };
    auto const alone = [](index_vector const& offset, index_vector const& shape = {2, 6}) {
        return flat_recipe{offset, {shape, 0, {}}, {}};
    };
    BOOST_TEST(said_of_grids({shared({}), alone({2, 0})}) == "nothing was thrown");
    BOOST_TEST(said_of_grids({shared(flat_slices{3, 8}), alone({2, 0})}) == "nothing was thrown");
    BOOST_TEST(said_of_grids({shared(flat_slices{5, 8}), alone({2, 0})}) ==
               itself +
                   "has 2 slices of 8 elements that do not hold 12 elements from element 5 on");
    for (flat_slices const how : {flat_slices{-1, 8}, flat_slices{0, -8},
                                  flat_slices{0, std::numeric_limits<index_t>::max()}})
        BOOST_TEST(
            said_of_grids({shared(how), alone({2, 0})}).starts_with(itself + "has 2 slices of "));
    BOOST_TEST(said_of_grids({shared({}, 1), alone({2, 0})}) ==
               itself + "has flat slices along axis 1 of a grid; slices need axes of the grid that "
                        "replicate, in ascending order");
    BOOST_TEST(said_of_grids({shared({}, 0, shard{0}), alone({2, 0})}) ==
               itself + "has flat slices along axis 0 of a grid; slices need axes of the grid that "
                        "replicate, in ascending order");
    BOOST_TEST(said_of_grids({alone({1, 0}), alone({2, 0})}) ==
               itself + "has grids of 'w' that share the elements [2:3, 0:6]");
    BOOST_TEST(said_of_grids({alone({3, 0})}) ==
               itself +
                   "has a grid of shape [2, 6] at offset [3, 0], which exceeds 'w', shape [4, 6]");
    BOOST_TEST(said_of_grids({alone({0, 0}, {2})}) ==
               itself + "has a grid of shape [2] at offset [0, 0]");
    BOOST_TEST(said_of_grids({alone({std::numeric_limits<index_t>::max(), 0})}) ==
               itself + "has a grid of shape [2, 6] at offset [9223372036854775807, 0]");
    BOOST_TEST(said_of_grids({}) == itself + "has an empty list of grids");
}

BOOST_AUTO_TEST_CASE(a_tensor_spread_in_no_way_is_refused) {
    BOOST_TEST(said_of(layout{1, {}, {{"w", data_type::i8, 0}}}) ==
               itself + "has 0 spreads, but 'w' names spread 0");
}

BOOST_AUTO_TEST_SUITE_END()
