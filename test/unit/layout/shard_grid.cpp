// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/shard_grid.hpp>

#include "oracle/random.hpp"
#include "support/placements.hpp"
#include "support/trials.hpp"

#include <reshard/layout/distribution_grid.hpp>

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_shard_grid)

namespace {

using numbers = std::vector<std::uint32_t>;

using numbered_boxes = std::set<std::pair<std::uint32_t, box>>;

/// The boxes that share elements with a region: number, and shared elements, block by block.
numbered_boxes overlaps(shard_grid const& grid, box const& region) {
    numbered_boxes boxes;
    grid.for_each_overlap(region, [&](std::uint32_t number, box const& common) {
        BOOST_TEST(boxes.emplace(number, common).second);
    });
    return boxes;
}

/// All data of the grid about its shards equals the ranks' shards, one after the other.
void check_shards(shard_grid const& grid, distribution const& distribution) {
    shard_table table(distribution.shape().size());
    append(table, distribution);
    BOOST_TEST_REQUIRE(grid.size() == table.size());
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        BOOST_TEST(grid.holder(i) == table.holder(i));
        BOOST_TEST((grid.region(i) == table.region(i)));
        BOOST_TEST((grid.cycles(i) == table.cycles(i)));
        BOOST_TEST((grid.find(table.holder(i)) == i));
    }
    for (holder_t rank = 0; rank < distribution.ranks().rank_count() + 3; ++rank)
        BOOST_TEST(grid.find(rank).has_value() == (rank < distribution.ranks().rank_count() &&
                                                   distribution.region(rank).has_value()));
}

/// Each shard is one replica of one box.
void check_boxes(shard_grid const& grid) {
    BOOST_TEST(grid.box_count() * grid.replicas() == grid.size());
    numbers seen_numbers(grid.size(), 0);
    for (std::size_t number = 0; number < grid.box_count(); ++number)
        for (std::size_t which = 0; which < grid.replicas(); ++which) {
            std::uint32_t const shard = grid.replica(number, which);
            ++seen_numbers[shard];
            BOOST_TEST(grid.box_of(shard) == number);
            BOOST_TEST(grid.replica_of(shard) == which);
            BOOST_TEST((grid.region(shard) == grid.box_at(number)));
            if (which > 0)
                BOOST_TEST(grid.holder(grid.replica(number, which - 1)) < grid.holder(shard));
        }
    BOOST_TEST((seen_numbers == numbers(grid.size(), 1)));
}

void check_overlaps(shard_grid const& grid, box const& region) {
    numbered_boxes expected;
    for (std::uint32_t number = 0; number < grid.box_count(); ++number)
        for (box const& block : boxes_of(grid.box_at(number), {}, grid.cycles_at(number)))
            if (auto const common = intersect(block, region))
                expected.emplace(number, *common);
    BOOST_TEST((overlaps(grid, region) == expected));
}

} // namespace

BOOST_AUTO_TEST_CASE(rows_over_columns_of_ranks) {
    // Two replicas of three parts of ten rows: 4, 4 and 2; ranks 0 to 2, and 3 to 5.
    shard_grid const grid =
        grid_of(distribution({{"dp", 2}, {"tp", 3}}, {replicate{}, shard{0}}, {10}));
    BOOST_TEST(grid.size() == 6u);
    BOOST_TEST(grid.box_count() == 3u);
    BOOST_TEST(grid.replicas() == 2u);
    BOOST_TEST((grid.box_at(2) == box{{8}, {2}}));
    BOOST_TEST(grid.holder(grid.replica(2, 1)) == 5u);
    BOOST_TEST((overlaps(grid, {{3}, {2}}) == numbered_boxes{{0, {{3}, {1}}}, {1, {{4}, {1}}}}));
    BOOST_TEST(overlaps(grid, {{3}, {0}}).empty());
}

BOOST_AUTO_TEST_CASE(blocks_are_dealt_out_by_arithmetic) {
    // Ten rows in blocks of two over two coordinates, of which both are on two ranks:
    // 0, 1, 4, 5, 8, 9 and 2, 3, 6, 7.
    shard_grid const grid =
        grid_of(distribution({{"p", 2}, {"dp", 2}}, {block_cyclic{0, 2}, replicate{}}, {10}));
    BOOST_TEST(grid.size() == 4u);
    BOOST_TEST(grid.box_count() == 2u);
    BOOST_TEST((grid.region(0) == box{{0}, {10}}));
    BOOST_TEST((grid.region(3) == box{{2}, {6}}));
    BOOST_TEST((grid.cycles(0) == axis_cycles{{0, 2, 4}}));
    BOOST_TEST((grid.cycles_at(1) == axis_cycles{{0, 2, 4}}));
    BOOST_TEST(
        (overlaps(grid, {{1}, {8}}) ==
         numbered_boxes{
             {0, {{1}, {1}}}, {1, {{2}, {2}}}, {0, {{4}, {2}}}, {1, {{6}, {2}}}, {0, {{8}, {1}}}}));
    // A grid of other blocks is another one, though its shards have the same hulls.
    shard_grid const shard_grid =
        grid_of(distribution({{"p", 2}, {"dp", 2}}, {block_cyclic{0, 1}, replicate{}}, {10}));
    BOOST_TEST(!grid.same_geometry(shard_grid));
    BOOST_TEST(!(grid == shard_grid));
}

BOOST_AUTO_TEST_CASE(who_alone_holds_it_is_found) {
    // Stage 1 of 3, two ranks a stage.
    shard_grid const grid =
        grid_of(distribution({{"pp", 3}, {"tp", 2}}, {only{1}, shard{1, even}}, {5, 4}));
    BOOST_TEST(grid.size() == 2u);
    BOOST_TEST(grid.holder(0) == 2u);
    BOOST_TEST((grid.find(3) == 1u));
    BOOST_TEST(!grid.find(1));
    BOOST_TEST(!grid.find(4));
    BOOST_TEST((grid.region(1) == box{{0, 2}, {5, 2}}));
}

BOOST_AUTO_TEST_CASE(geometry_does_not_depend_on_who_holds_it) {
    mesh const stages{{"pp", 3}, {"tp", 2}};
    shard_grid const first = grid_of(distribution(stages, {only{0}, shard{0}}, {5}));
    shard_grid const last = grid_of(distribution(stages, {only{2}, shard{0}}, {5}));
    shard_grid const both = grid_of(distribution({{"tp", 2}}, {shard{0}}, {5}));
    shard_grid const longer = grid_of(distribution(stages, {only{0}, shard{0}}, {6}));
    shard_grid const copies = grid_of(distribution(stages, {replicate{}, shard{0}}, {5}));
    auto const digest = [](shard_grid const& grid) {
        hasher hasher;
        grid.add_geometry(hasher);
        return hasher.value();
    };
    BOOST_TEST(first.same_geometry(last));
    BOOST_TEST(first.same_geometry(both));
    BOOST_TEST(digest(first) == digest(last));
    BOOST_TEST(!(first == last));
    BOOST_TEST((first == both));
    BOOST_TEST(!first.same_geometry(longer));
    BOOST_TEST(!first.same_geometry(copies));
    BOOST_TEST(digest(first) != digest(longer));
    BOOST_TEST(digest(first) != digest(copies));
}

BOOST_AUTO_TEST_CASE(a_hundred_thousand_ranks_are_asked_in_no_time) {
    // One row a rank; ranks after the last row have nothing.
    shard_grid const grid = grid_of(distribution({{"fsdp", 100'000}}, {shard{0}}, {16'384, 8}));
    BOOST_TEST(grid.size() == 100'000u);
    int steps = 0;
    grid.for_each_overlap({{16'000, 2}, {900, 3}}, [&](std::uint32_t number, box const& common) {
        BOOST_TEST(number == 16'000u + static_cast<std::uint32_t>(steps));
        BOOST_TEST((common == box{{16'000 + steps, 2}, {1, 3}}));
        ++steps;
    });
    BOOST_TEST(steps == 384);
    BOOST_TEST((grid.region(99'999) == box{{16'384, 0}, {0, 8}}));
}

BOOST_AUTO_TEST_CASE(grids_are_what_their_placements_say) {
    for (std::uint64_t seed = 0; seed < test::trials(2000); ++seed) {
        oracle::random_numbers random(seed);
        distribution const distribution = test::any_distribution(random);
        BOOST_TEST_CONTEXT("seed " << seed << ": " << to_string(distribution)) {
            shard_grid const grid = grid_of(distribution);
            check_shards(grid, distribution);
            check_boxes(grid);
            check_overlaps(grid, whole(distribution.shape()));
            for (int i = 0; i < 5; ++i)
                check_overlaps(grid, test::any_part_of(random, distribution.shape()));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
