// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/box.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(core_axis_cycle)

namespace {

std::vector<box> blocks_of(box const& region, axis_cycles const& cycles) {
    std::vector<box> blocks;
    for_each_block(region, cycles, [&](box const& box) { blocks.push_back(box); });
    return blocks;
}

} // namespace

BOOST_AUTO_TEST_CASE(blocks_have_as_many_elements_as_numroc_says) {
    // numroc(9, 2, 0, 0, 2) == 5: the elements 0, 1, 4, 5, 8.
    static_assert(held_extent(9, {0, 2, 4}) == 5);
    // numroc(100, 36, 0, 0, 2) == 64: 0 to 35 and 72 to 99.
    static_assert(held_extent(100, {0, 36, 72}) == 64);
    BOOST_TEST((held_shape({{3, 0}, {6, 9}}, {{0, 2, 4}, {1, 2, 4}}) == index_vector{4, 5}));
    BOOST_TEST((held_shape({{3, 0}, {6, 9}}, {}) == index_vector{6, 9}));
}

BOOST_AUTO_TEST_CASE(blocks_come_in_row_major_order) {
    std::vector<box> const expected{{{1, 2}, {2, 3}}, {{1, 8}, {2, 1}}, {{5, 2}, {2, 3}},
                                    {{5, 8}, {2, 1}}, {{9, 2}, {1, 3}}, {{9, 8}, {1, 1}}};
    BOOST_TEST((blocks_of({{1, 2}, {9, 7}}, {{0, 2, 4}, {1, 3, 6}}) == expected));
    BOOST_TEST((blocks_of({{1, 2}, {9, 7}}, {}) == std::vector<box>{{{1, 2}, {9, 7}}}));
    BOOST_TEST(blocks_of({{0, 2}, {0, 7}}, {{1, 3, 6}}).size() == 2u); // of no elements each
}

BOOST_AUTO_TEST_CASE(blocks_lie_side_by_side_in_their_array) {
    axis_cycles const cycles{{0, 2, 4}, {1, 3, 6}};
    BOOST_TEST((held_index(cycles, {0, 0}) == index_vector{0, 0}));
    BOOST_TEST((held_index(cycles, {5, 6}) == index_vector{3, 3}));
    BOOST_TEST((held_index({{1, 3, 6}}, {5, 8}) == index_vector{5, 5}));
    BOOST_TEST((block_at({{1, 2}, {9, 7}}, cycles, {6, 8}) == box{{5, 8}, {2, 1}}));
    BOOST_TEST((block_at({{1, 2}, {9, 7}}, cycles, {9, 4}) == box{{9, 2}, {1, 3}}));
}

// An array of 4 columns; and tiles of 2 x 3, 100 apart down and 10 apart to the right.
BOOST_AUTO_TEST_CASE(blocks_lie_in_one_array_or_each_in_its_own) {
    axis_cycles const cycles{{0, 2, 4}, {1, 3, 6}};
    index_vector const array{4, 1}, tiles{100, 10, 3, 1};
    auto const step = [&](index_vector const& strides, std::size_t axis, index_t distance) {
        return memory_step(cycles, strides, 2, axis, distance);
    };
    BOOST_TEST((strides_in_block(array, 2) == array));
    BOOST_TEST((strides_in_block(tiles, 2) == index_vector{3, 1}));
    BOOST_TEST(step(array, 0, 1) == 4);
    BOOST_TEST(step(array, 0, 8) == 16);
    BOOST_TEST(step(array, 1, 14) == 8);
    BOOST_TEST(step(tiles, 0, 1) == 3);
    BOOST_TEST(step(tiles, 0, 8) == 200);
    BOOST_TEST(step(tiles, 0, 9) == 203);
    BOOST_TEST(step(tiles, 1, 14) == 22);
    BOOST_TEST(memory_step({{1, 3, 6}}, tiles, 2, 0, 5) == 15); // no blocks along axis 0
}

BOOST_AUTO_TEST_CASE(gaps_share_no_elements) {
    axis_cycles const cycles{{0, 2, 5}};
    box const region{{10}, {12}}; // 10, 11, 15, 16, 20, 21
    BOOST_TEST(shares_elements(region, cycles, {{11}, {1}}));
    BOOST_TEST(!shares_elements(region, cycles, {{12}, {3}}));
    BOOST_TEST(shares_elements(region, cycles, {{12}, {4}}));
    BOOST_TEST(!shares_elements(region, cycles, {{17}, {3}}));
    BOOST_TEST(shares_elements(region, cycles, {{0}, {11}}));
    BOOST_TEST(!shares_elements(region, cycles, {{22}, {3}}));
    BOOST_TEST(!shares_elements(region, cycles, {{10}, {0}}));
}

BOOST_AUTO_TEST_CASE(cycles_have_one_description) {
    auto const is_bad = [](index_t extent, axis_cycles const& cycles) {
        return find_bad_cycle({{0, 0}, {extent, 4}}, cycles) != nullptr;
    };
    BOOST_TEST(!is_bad(9, {}));
    BOOST_TEST(!is_bad(9, {{0, 2, 4}}));
    BOOST_TEST(!is_bad(5, {{0, 2, 4}}));
    BOOST_TEST(is_bad(4, {{0, 2, 4}}));            // one block, and a gap
    BOOST_TEST(is_bad(2, {{0, 2, 4}}));            // one block
    BOOST_TEST(is_bad(7, {{0, 2, 4}}));            // ends in a gap
    BOOST_TEST(is_bad(9, {{0, 0, 4}}));            // blocks of nothing
    BOOST_TEST(is_bad(9, {{0, 4, 4}}));            // no gaps
    BOOST_TEST(is_bad(9, {{2, 2, 4}}));            // no such axis
    BOOST_TEST(is_bad(9, {{1, 1, 3}, {0, 2, 4}})); // out of order
    BOOST_TEST(is_bad(9, {{0, 2, 4}, {0, 2, 4}}));
}

BOOST_AUTO_TEST_CASE(cycles_are_printed) {
    BOOST_TEST(to_string(axis_cycles{}).empty());
    BOOST_TEST(to_string(axis_cycles{{0, 2, 4}, {1, 36, 72}}) ==
               " axis 0: 2 of 4 axis 1: 36 of 72");
}

BOOST_AUTO_TEST_SUITE_END()
