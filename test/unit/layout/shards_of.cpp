// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/shards_of.hpp>

#include "support/held_once.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_shards_of)

namespace {

using rank_vector = std::vector<holder_t>;

bool holds_some(shard_descriptor const& shard, box const& wanted) {
    auto const boxes = boxes_of(shard.region, shard.flat);
    return std::any_of(boxes.begin(), boxes.end(),
                       [&](box const& part) { return intersect(part, wanted).has_value(); });
}

/// Compares the holders of all boxes of a matrix with each rank's own shards.
void compare_with_each_rank(tensor_sharding const& tensor) {
    holder_t const ranks = tensor.parts[0].spread.ranks().rank_count();
    index_t const rows = tensor.shape[0], columns = tensor.shape[1];
    for (index_t i = 0; i < rows * rows * columns * columns; ++i) {
        index_t const top = i % rows, left = i / rows % columns;
        box const wanted{{top, left},
                         {std::min(i / rows / columns % rows + 1, rows - top),
                          std::min(i / rows / columns / rows + 1, columns - left)}};
        rank_vector expected;
        for (holder_t rank = 0; rank < ranks; ++rank) {
            auto const shards = shards_of(tensor, rank);
            if (std::any_of(shards.begin(), shards.end(),
                            [&](auto const& shard) { return holds_some(shard, wanted); }))
                expected.push_back(rank);
        }
        if (holders_of(tensor, wanted) != expected)
            BOOST_ERROR("other holders of " + to_string(wanted));
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(the_example_of_flattening) {
    // [[0..5], [6..11]]: tensor parallel over 2 ranks on axis 1, then data parallel over 3.
    mesh const grid{{"dp", 3}, {"tp", 2}};
    tensor_sharding const tensor =
        sharding_of("w", data_type::f32, distribution(grid, {replicate{}, shard{1}}, {2, 6}),
                    flat_sharing{1, {}});
    std::vector<std::vector<index_t>> const expected{{0, 1}, {3, 4}, {2, 6},
                                                     {5, 9}, {7, 8}, {10, 11}};
    for (holder_t rank = 0; rank < 6; ++rank) {
        auto const shards = shards_of(tensor, rank);
        BOOST_TEST(shards.size() == 1);
        std::vector<index_t> elements;
        for (box const& part : boxes_of(shards[0].region, shards[0].flat))
            for (index_t const i : test::elements_of(part, {2, 6}))
                elements.push_back(i);
        BOOST_TEST((elements == expected[rank]));
    }
    compare_with_each_rank(tensor);
    BOOST_TEST(test::is_held_once(tensor));
}

BOOST_AUTO_TEST_CASE(tensor_parallel_over_six_ranks_holds_columns) {
    tensor_sharding const tensor = sharding_of(
        "w", data_type::f32, distribution({{"dp", 1}, {"tp", 6}}, {replicate{}, shard{1}}, {2, 6}),
        flat_sharing{1, {}});
    for (holder_t rank = 0; rank < 6; ++rank) {
        auto const shards = shards_of(tensor, rank);
        BOOST_TEST((boxes_of(shards[0].region, shards[0].flat) ==
                    std::vector<box>{{{0, index_t{rank}}, {2, 1}}}));
    }
}

BOOST_AUTO_TEST_CASE(uneven_regions_and_slices_with_padding) {
    mesh const grid{{"pp", 2}, {"dp", 2}, {"cp", 2}, {"tp", 3}};
    for (index_t const begin : {0, 1, 5}) {
        tensor_sharding const tensor =
            sharding_of("w", data_type::f32,
                        distribution(grid, {only{1}, replicate{}, replicate{}, shard{0}}, {5, 3}),
                        flat_sharing{6, flat_slices{begin, 3}});
        check(tensor);
        compare_with_each_rank(tensor);
        BOOST_TEST(test::is_held_once(tensor));
    }
}

BOOST_AUTO_TEST_CASE(ranks_count_their_slices_along_the_last_axis_first) {
    mesh const grid{{"dp", 2}, {"tp", 2}, {"cp", 2}};
    tensor_sharding const tensor = sharding_of(
        "w", data_type::f32, distribution(grid, {replicate{}, shard{0}, replicate{}}, {2, 4}),
        flat_sharing{5, {}});
    // Of row 0, dp 0 cp 0 has element 0, dp 0 cp 1 element 1, dp 1 cp 0 element 2.
    BOOST_TEST((holders_of(tensor, {{0, 1}, {1, 1}}) == rank_vector{1}));
    BOOST_TEST((holders_of(tensor, {{0, 2}, {1, 1}}) == rank_vector{4}));
    BOOST_TEST((holders_of(tensor, {{1, 3}, {1, 1}}) == rank_vector{7}));
    BOOST_TEST((shards_of(tensor, 4)[0].flat == flat_range{2, 3}));
}

BOOST_AUTO_TEST_CASE(parts_are_stored_one_behind_the_other) {
    // Gate over up: each rank has rows of both.
    distribution const half({{"tp", 2}}, {shard{0}}, {4, 2}, "w");
    tensor_sharding const fused{
        "w", data_type::f32, {8, 2}, {{{0, 0}, half, {}}, {{4, 0}, half, {}}}};
    auto const held = shards_of(fused, 1);
    BOOST_TEST(held.size() == 2);
    BOOST_TEST((held[0].region == box{{2, 0}, {2, 2}}));
    BOOST_TEST((held[1].region == box{{6, 0}, {2, 2}}));
    compare_with_each_rank(fused);
    BOOST_TEST(test::is_held_once(fused));
    shard_table const shards = table_of(fused);
    BOOST_TEST(shards.size() == 4);
    BOOST_TEST((shards.holders() == rank_vector{0, 0, 1, 1}));
    BOOST_TEST((shards.region(1) == box{{4, 0}, {2, 2}}));
}

BOOST_AUTO_TEST_CASE(a_copy_on_another_stage_is_no_main_copy) {
    mesh const grid{{"pp", 3}, {"tp", 2}};
    distribution const first(grid, {only{0}, shard{0}}, {4, 2}),
        last(grid, {only{2}, shard{0}}, {4, 2});
    tensor_sharding const tied{
        "e", data_type::f32, {4, 2}, {{{0, 0}, first, {}}, {{0, 0}, last, {}, true}}};
    BOOST_TEST((holders_of(tied, {{2, 0}, {1, 1}}) == rank_vector{1, 5}));
    BOOST_TEST((holders_of(tied, {{2, 0}, {1, 1}}, copies::main) == rank_vector{1}));
    BOOST_TEST(test::is_held_once(tied));
}

BOOST_AUTO_TEST_CASE(empty_boxes_are_held_and_empty_ranges_are_not) {
    tensor_sharding const rows =
        sharding_of("w", data_type::f32, distribution({{"dp", 4}}, {shard{0}}, {3, 2}));
    BOOST_TEST((shards_of(rows, 3)[0].region == box{{3, 0}, {0, 2}}));
    BOOST_TEST(table_of(rows).size() == 3);
    tensor_sharding const slices = sharding_of(
        "w", data_type::f32, distribution({{"dp", 4}}, {replicate{}}, {3}), flat_sharing{1, {}});
    BOOST_TEST(shards_of(slices, 3).empty());
    BOOST_TEST((shards_of(slices, 2)[0].flat == flat_range{2, 3}));
}

BOOST_AUTO_TEST_CASE(a_narrow_box_visits_only_the_slices_that_it_touches) {
    // A column of a matrix whose rows are a million slices each.
    index_t const columns = index_t{1} << 24;
    tensor_sharding const tensor = sharding_of(
        "w", data_type::f32, distribution({{"dp", 1 << 28}}, {replicate{}}, {256, columns}),
        flat_sharing{1, flat_slices{0, 16}});
    int calls = 0;
    for_each_holder(tensor, {{0, 5}, {256, 1}}, copies::all,
                    [&](holder_t, box const&, auto const&) { ++calls; });
    BOOST_TEST(calls == 256);
}

BOOST_AUTO_TEST_SUITE_END()
