// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/tensor_shards.hpp>

#include "support/shardings.hpp"
#include "support/trials.hpp"

#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/shards_of.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <optional>
#include <reshard/core/vector.hpp>
#include <set>
#include <utility>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_grid_list)

namespace {

using numbers = reshard::vector<std::uint32_t>;

/// Holder, region and flat range of a shard.
struct held_shard {
    holder_t holder;
    box region;
    std::optional<flat_range> flat;
    axis_cycles cycles;

    bool operator==(held_shard const&) const = default;
};

/// What `shards_of` says of every rank, of shards that have elements.
reshard::vector<held_shard> asked_by_rank(tensor_sharding const& tensor, holder_t ranks) {
    reshard::vector<held_shard> shards;
    for (holder_t rank = 0; rank < ranks; ++rank)
        for (shard_descriptor const& shard : shards_of(tensor, rank))
            if (!is_empty(shard.region))
                shards.push_back({rank, shard.region, shard.flat, shard.cycles});
    return shards;
}

reshard::vector<held_shard> asked_of_list(grid_list const& list, holder_t ranks) {
    reshard::vector<held_shard> shards;
    for (holder_t rank = 0; rank < ranks; ++rank)
        list.for_each_of(rank, [&](std::uint32_t i) {
            BOOST_TEST(list.holder(i) == rank);
            if (!list.boxes(i).empty() && !is_empty(list.region(i)))
                shards.push_back({rank, list.region(i), list.flat(i), list.cycles(i)});
        });
    return shards;
}

/// The boxes of a shard that have numbers: blocks have one together.
reshard::vector<box> numbered_boxes(grid_list const& list, std::uint32_t shard) {
    return list.cycles(shard).empty() ? list.boxes(shard) : reshard::vector{list.region(shard)};
}

/// Each box of each shard is after the shard's first one, and knows the shard.
void check_boxes(grid_list const& list) {
    for (std::uint32_t shard = 0; shard < list.size(); ++shard) {
        auto const boxes = numbered_boxes(list, shard);
        for (std::uint8_t part = 0; part < boxes.size(); ++part) {
            std::uint32_t const number = list.first_box(shard) + part;
            BOOST_TEST((list.box_at(number) == boxes[part]));
            auto const which = list.replica_held(number, list.holder(shard));
            BOOST_TEST_REQUIRE(which.has_value());
            BOOST_TEST((list.replica(number, *which) == shard_part{shard, part}));
            BOOST_TEST(*which < list.replicas(number));
        }
    }
}

/// Visits the boxes that share elements with the region, and no others, each once.
void check_overlaps(grid_list const& list, box const& region) {
    std::set<std::pair<std::uint32_t, box>> expected, pairs;
    for (std::uint32_t shard = 0; shard < list.size(); ++shard) {
        std::uint32_t number = list.first_box(shard);
        for (box const& part : list.boxes(shard)) {
            if (auto const common = intersect(part, region))
                expected.emplace(number, *common);
            number += list.cycles(shard).empty();
        }
    }
    list.for_each_overlap(region, [&](std::uint32_t number, box const& common) {
        BOOST_TEST(pairs.emplace(number, common).second);
    });
    BOOST_TEST((pairs == expected));
}

} // namespace

BOOST_AUTO_TEST_CASE(grids_are_numbered_one_behind_the_other) {
    // q of 4 rows over two ranks, then k of 2 rows on both, of which each has a half, flat.
    mesh const ranks{{"tp", 2}};
    reshard::vector<flat_grid> grids;
    grids.push_back({{0, 0}, grid_of(distribution(ranks, {shard{0}}, {4, 3}))});
    grids.push_back({{4, 0},
                     grid_of(distribution(ranks, {replicate{}}, {2, 3})),
                     grid_sharing{{0}, std::nullopt}});
    grid_list const list(std::move(grids));
    BOOST_TEST(list.size() == 4u);
    BOOST_TEST((list.region(1) == box{{2, 0}, {2, 3}}));
    BOOST_TEST((list.region(3) == box{{4, 0}, {2, 3}}));
    BOOST_TEST((list.flat(3) == flat_range{3, 6}));
    BOOST_TEST(!list.flat(1).has_value());
    numbers held_numbers;
    list.for_each_of(1, [&](std::uint32_t i) { held_numbers.push_back(i); });
    BOOST_TEST((held_numbers == numbers{1, 3}));
    BOOST_TEST(list.box_count() == 2u + 2u * 3u); // a flat range of a matrix is up to 3 boxes
    BOOST_TEST(list.first_box(3) == 5u);
    BOOST_TEST((list.box_at(5) == box{{5, 0}, {1, 3}}));
    BOOST_TEST((list.replica(5, 0) == shard_part{3, 0}));
}

BOOST_AUTO_TEST_CASE(a_list_says_what_each_rank_says) {
    int lists = 0;
    for (std::uint64_t seed = 0; seed < test::trials(3000); ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            oracle::random_numbers random(seed);
            mesh const ranks = test::any_mesh(random);
            index_vector const shape = test::any_shape(random);
            tensor_sharding const tensor = test::any_sharding_of(random, "w", ranks, shape);
            tensor_spread const spread = detail::spread_of(tensor);
            auto const* const list = std::get_if<grid_list>(&spread.shards);
            if (!list)
                continue;
            ++lists;
            BOOST_TEST((asked_of_list(*list, ranks.rank_count()) ==
                        asked_by_rank(tensor, ranks.rank_count())));
            check_boxes(*list);
            for (int i = 0; i < 5; ++i)
                check_overlaps(*list, test::any_part_of(random, shape));
        }
    }
    BOOST_TEST(lists > test::trials(3000) / 3);
}

BOOST_AUTO_TEST_CASE(more_boxes_than_32_bits_count_are_refused) {
    distribution const distribution({{"a", 20'000}, {"b", 20'000}}, {replicate{}, replicate{}},
                                    {9, 9, 9});
    BOOST_CHECK_THROW(
        grid_list(
            {flat_grid({0, 0, 0}, grid_of(distribution), grid_sharing{{0, 1}, std::nullopt}),
             flat_grid({9, 0, 0}, grid_of(distribution), grid_sharing{{0, 1}, std::nullopt}),
             flat_grid({18, 0, 0}, grid_of(distribution), grid_sharing{{0, 1}, std::nullopt})}),
        error);
}

BOOST_AUTO_TEST_SUITE_END()
