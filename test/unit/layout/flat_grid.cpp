// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/flat_grid.hpp>

#include <reshard/layout/distribution_grid.hpp>

#include <boost/test/unit_test.hpp>

#include <optional>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_flat_grid)

namespace {

using boxes = std::vector<box>;

/// Eight ranks, (dp 4, tp 2): columns 1 to 6 of a [3, 8] tensor, three each for tp, shared by dp in
/// slices: of 9 elements each has 3, but the last one, which has none of a buffer of 4 x 3.
flat_grid columns(std::optional<flat_slices> const& slices = std::nullopt) {
    shard_grid grid =
        grid_of(distribution({{"dp", 4}, {"tp", 2}}, {replicate{}, shard{1}}, {3, 6}));
    return {{0, 1}, std::move(grid), grid_sharing{{0}, slices}};
}

boxes overlaps(flat_grid const& grid, box const& region) {
    boxes found_boxes;
    grid.for_each_overlap(region,
                          [&](std::uint32_t, box const& common) { found_boxes.push_back(common); });
    return found_boxes;
}

} // namespace

BOOST_AUTO_TEST_CASE(each_replica_has_a_slice_of_its_box) {
    flat_grid const grid = columns();
    BOOST_TEST(grid.size() == 8u);
    BOOST_TEST(grid.replicas() == 1u);
    BOOST_TEST(grid.holder(5) == 5u); // dp 2, tp 1
    BOOST_TEST((grid.region(5) == box{{0, 4}, {3, 3}}));
    BOOST_TEST((grid.flat(5) == flat_range{6, 9}));
    BOOST_TEST((grid.flat(7) == flat_range{9, 9}));
    BOOST_TEST((grid.boxes(5) == boxes{{{2, 4}, {1, 3}}}));
    BOOST_TEST(grid.boxes(7).empty());
}

BOOST_AUTO_TEST_CASE(slices_of_a_buffer_begin_where_the_box_does) {
    // From element 2 on of four slices of 4: 2, 4 and 3 of the 9 elements, and none.
    flat_grid const grid = columns(flat_slices{2, 4});
    BOOST_TEST((grid.flat(0) == flat_range{0, 2}));
    BOOST_TEST((grid.flat(2) == flat_range{2, 6}));
    BOOST_TEST((grid.flat(4) == flat_range{6, 9}));
    BOOST_TEST((grid.flat(6) == flat_range{9, 9}));
    BOOST_TEST((grid.boxes(2) == boxes{{{0, 3}, {1, 1}}, {{1, 1}, {1, 3}}}));
}

BOOST_AUTO_TEST_CASE(a_box_knows_its_shard_and_its_part_of_it) {
    flat_grid const grid = columns(flat_slices{2, 4});
    std::uint32_t const first = grid.first_box(2);
    BOOST_TEST((grid.box_at(first + 1) == box{{1, 1}, {1, 3}}));
    BOOST_TEST((grid.replica(first + 1, 0) == shard_part{2, 1}));
    BOOST_TEST((grid.replica_held(first + 1, 2) == 0u));
    BOOST_TEST(
        !grid.replica_held(first + 1, 4).has_value()); // the same box of the grid, another slice
    BOOST_TEST(is_empty(grid.box_at(grid.first_box(6))));
}

BOOST_AUTO_TEST_CASE(only_slices_with_some_of_a_region_are_visited) {
    flat_grid const grid = columns(flat_slices{2, 4});
    // Row 1 of both tp ranks: elements 3, 4, 5 of each box, which slice 1 has.
    BOOST_TEST((overlaps(grid, {{1, 0}, {1, 8}}) == boxes{{{1, 1}, {1, 3}}, {{1, 4}, {1, 3}}}));
    // A column: element 2 in slice 1, and the boxes of elements 5 and 8 in slices 1 and 2.
    BOOST_TEST((overlaps(grid, {{0, 3}, {3, 1}}) ==
                boxes{{{0, 3}, {1, 1}}, {{1, 3}, {1, 1}}, {{2, 3}, {1, 1}}}));
    BOOST_TEST(overlaps(grid, {{0, 7}, {3, 1}}).empty());
}

BOOST_AUTO_TEST_CASE(replicas_that_do_not_share_have_the_same_slice) {
    // Six ranks, (a 2, b 3): a shares, b copies.
    flat_grid const grid(
        {0}, grid_of(distribution({{"a", 2}, {"b", 3}}, {replicate{}, replicate{}}, {5})),
        grid_sharing{{0}, std::nullopt});
    BOOST_TEST(grid.replicas() == 3u);
    BOOST_TEST((grid.flat(4) == flat_range{3, 5}));
    std::uint32_t const box = grid.first_box(4);
    for (std::size_t which = 0; which < 3; ++which)
        BOOST_TEST((grid.replica(box, which) == shard_part{static_cast<std::uint32_t>(3 + which)}));
    BOOST_TEST((grid.replica_held(box, 5) == 2u));
}

BOOST_AUTO_TEST_CASE(scalars_are_shared_by_giving_them_to_the_first) {
    flat_grid const grid({}, grid_of(distribution({{"dp", 3}}, {replicate{}}, {})),
                         grid_sharing{{0}, std::nullopt});
    BOOST_TEST((grid.flat(0) == flat_range{0, 1}));
    BOOST_TEST((grid.flat(1) == flat_range{1, 1}));
    BOOST_TEST(overlaps(grid, {{}, {}}).size() == 1u);
}

BOOST_AUTO_TEST_CASE(grids_that_are_shared_otherwise_are_others) {
    BOOST_TEST(columns().same_geometry(columns()));
    BOOST_TEST(!columns().same_geometry(columns(flat_slices{0, 3})));
    hasher a, b;
    columns().add_geometry(a);
    columns(flat_slices{0, 3}).add_geometry(b);
    BOOST_TEST(a.value() != b.value());
}

BOOST_AUTO_TEST_SUITE_END()
