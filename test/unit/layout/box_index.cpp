// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/box_index.hpp>

#include <boost/test/unit_test.hpp>

#include <random>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_box_index)

namespace {

using numbers = std::vector<std::uint32_t>;

box_list list(std::size_t ndim, std::vector<box> const& boxes) {
    box_list result(ndim);
    for (box const& box : boxes)
        result.push_back(box);
    return result;
}

/// Every box is compared with the one that is asked for.
numbers by_comparing_all(box_list const& boxes, box const& region) {
    numbers found_numbers;
    for (std::uint32_t i = 0; i < boxes.size(); ++i)
        if (!is_empty(boxes[i]) && !is_empty(region) && intersect(boxes[i], region))
            found_numbers.push_back(i);
    return found_numbers;
}

} // namespace

BOOST_AUTO_TEST_CASE(an_index_of_nothing_finds_nothing) {
    BOOST_TEST(box_index().overlapping({{0}, {4}}).empty());
    BOOST_TEST(box_index(box_list(2)).overlapping({{0, 0}, {4, 4}}).empty());
    BOOST_TEST(box_index(list(1, {{{3}, {0}}})).overlapping({{0}, {9}}).empty());
}

BOOST_AUTO_TEST_CASE(boxes_that_touch_do_not_overlap) {
    box_index const index(list(1, {{{0}, {3}}, {{3}, {3}}, {{6}, {3}}}));
    BOOST_TEST((index.overlapping({{3}, {3}}) == numbers{1}));
    BOOST_TEST((index.overlapping({{2}, {2}}) == numbers{0, 1}));
    BOOST_TEST((index.overlapping({{9}, {3}}) == numbers{}));
    BOOST_TEST((index.overlapping({{4}, {0}}) == numbers{}));
}

BOOST_AUTO_TEST_CASE(the_common_box_is_given) {
    box_index const index(list(2, {{{0, 0}, {4, 4}}}));
    box seen_box;
    index.for_each_overlap({{2, 3}, {9, 9}}, [&](std::uint32_t i, box const& common) {
        BOOST_TEST(i == 0u);
        seen_box = common;
    });
    BOOST_TEST((seen_box == box{{2, 3}, {2, 1}}));
}

BOOST_AUTO_TEST_CASE(replicas_are_all_found) {
    std::vector<box> const same(9, box{{2, 2}, {3, 3}});
    BOOST_TEST((box_index(list(2, same)).overlapping({{4, 4}, {1, 1}}) ==
                numbers{0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

BOOST_AUTO_TEST_CASE(scalars_all_overlap) {
    std::vector<box> const scalars(6, box{});
    BOOST_TEST((box_index(list(0, scalars)).overlapping({}) == numbers{0, 1, 2, 3, 4, 5}));
}

BOOST_AUTO_TEST_CASE(an_index_finds_what_comparing_all_boxes_finds) {
    std::mt19937 random(7);
    auto const below = [&](index_t limit) { return static_cast<index_t>(random()) % limit; };
    for (int round = 0; round < 200; ++round) {
        auto const ndim = static_cast<std::size_t>(below(5));
        auto const random_box = [&](index_t most) {
            box result;
            for (std::size_t axis = 0; axis < ndim; ++axis) {
                result.offset.push_back(below(20));
                result.shape.push_back(below(most));
            }
            return result;
        };
        box_list boxes(ndim);
        for (index_t i = below(60); i > 0; --i)
            boxes.push_back(random_box(8));
        box_index const index(boxes);
        for (int query = 0; query < 20; ++query) {
            box const region = random_box(12);
            BOOST_TEST_REQUIRE((index.overlapping(region) == by_comparing_all(boxes, region)));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_query_looks_at_few_of_many_boxes) {
    // 64 x 64 tiles: only overlapping tiles are visited, so a query of one tile visits one.
    box_list tiles(2);
    for (index_t row = 0; row < 64; ++row)
        for (index_t column = 0; column < 64; ++column)
            tiles.push_back({{row * 4, column * 4}, {4, 4}});
    box_index const index(tiles);
    BOOST_TEST((index.overlapping({{9, 17}, {2, 2}}) == numbers{2 * 64 + 4}));
    BOOST_TEST((index.overlapping({{7, 7}, {2, 2}}) == numbers{64 + 1, 64 + 2, 128 + 1, 128 + 2}));
    BOOST_TEST(index.overlapping({{0, 20}, {256, 1}}).size() == 64u);
}

BOOST_AUTO_TEST_SUITE_END()
