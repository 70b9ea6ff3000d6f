// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/loops.hpp>

#include "support.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(loops)

BOOST_AUTO_TEST_CASE(places_are_visited_with_the_last_axis_fastest) {
    std::vector<std::pair<index_t, index_t>> pairs;
    detail::for_each_place(
        {{2, 3, 9}, 5, {10, 1, 77}, 7, {-1, 4, 88}}, 2,
        [&](index_t source, index_t target) { pairs.emplace_back(source, target); });
    std::vector<std::pair<index_t, index_t>> const wanted{{5, 7},  {6, 11},  {7, 15},
                                                          {15, 6}, {16, 10}, {17, 14}};
    BOOST_TEST((pairs == wanted));
}

BOOST_AUTO_TEST_CASE(no_axis_is_one_place) {
    int visits = 0;
    detail::for_each_place({{4}, 1, {1}, 2, {1}}, 0, [&](index_t source, index_t target) {
        BOOST_TEST(source == 1);
        BOOST_TEST(target == 2);
        ++visits;
    });
    BOOST_TEST(visits == 1);
}

BOOST_AUTO_TEST_CASE(random_copies_visit_every_place) {
    std::mt19937 random(71);
    for (int round = 0; round < 100; ++round) {
        auto const copy = test::random_copy(random, 4, 4);
        if (element_count(copy) == 0)
            continue;
        std::vector<std::pair<index_t, index_t>> pairs;
        detail::for_each_place(copy, copy.ndim(), [&](index_t source, index_t target) {
            pairs.emplace_back(source, target);
        });
        BOOST_TEST_REQUIRE((pairs == test::places(copy)));
    }
}

BOOST_AUTO_TEST_CASE(pieces_cover_an_extent_in_order) {
    std::vector<std::pair<index_t, index_t>> pairs;
    auto const note = [&](index_t begin, index_t end) { pairs.emplace_back(begin, end); };
    detail::for_each_piece(10, 3, 4, note);
    BOOST_TEST((pairs == std::vector<std::pair<index_t, index_t>>{{0, 3}, {3, 7}, {7, 10}}));
    pairs.clear();
    detail::for_each_piece(2, 3, 4, note);
    BOOST_TEST((pairs == std::vector<std::pair<index_t, index_t>>{{0, 2}}));
    pairs.clear();
    detail::for_each_piece(0, 3, 4, note);
    BOOST_TEST(pairs.empty());
}

BOOST_AUTO_TEST_CASE(copies_are_rescaled_reordered_and_padded) {
    affine_copy const copy{{2, 3, 4}, 1, {12, 4, 1}, 2, {1, 2, 6}};
    BOOST_TEST(
        (detail::scaled(copy, {4, 2}) == affine_copy{{2, 3, 4}, 4, {48, 16, 4}, 4, {2, 4, 12}}));
    BOOST_TEST(
        (detail::with_second_last(copy, 0) == affine_copy{{3, 2, 4}, 1, {4, 12, 1}, 2, {2, 1, 6}}));
    BOOST_TEST((detail::with_second_last(copy, 1) == copy));
    BOOST_TEST((detail::with_axes(copy, 2) == copy));
    BOOST_TEST(
        (detail::with_axes({{5}, 1, {2}, 3, {4}}, 2) == affine_copy{{1, 5}, 1, {1, 2}, 3, {1, 4}}));
}

BOOST_AUTO_TEST_CASE(tiles_cover_the_last_two_axes_once) {
    affine_copy const copy{{2, 100, 37}, 0, {3700, 1, 100}, 0, {3700, 37, 1}};
    std::vector<int> visited(7400);
    auto const tiles = detail::tiling{{16, 8}, 5, 32};
    detail::for_each_tile(copy, tiles,
                          [&](detail::tile_extent extent, index_t source, index_t target) {
                              BOOST_TEST_REQUIRE((extent.lines <= 16 && extent.width <= 8));
                              BOOST_TEST_REQUIRE(source / 3700 == target / 3700);
                              for (index_t i = 0; i < extent.lines; ++i)
                                  for (index_t j = 0; j < extent.width; ++j)
                                      ++visited.at(static_cast<std::size_t>(target + i * 37 + j));
                          });
    BOOST_TEST(std::count(visited.begin(), visited.end(), 1) == 7400);
}

BOOST_AUTO_TEST_CASE(only_runs_of_whole_lines_or_long_ones_are_streamed) {
    alignas(64) unsigned char bytes[64] = {};
    detail::memory const at{bytes, bytes, true};
    affine_copy const even{{9, 64}, 0, {64, 1}, 0, {128, 1}};
    affine_copy const uneven{{9, 64}, 0, {64, 1}, 0, {100, 1}};
    BOOST_TEST(detail::streams_rows(even, 64, at));
    BOOST_TEST(!detail::streams_rows(even, 60, at));
    BOOST_TEST(!detail::streams_rows(even, 64, {bytes, bytes + 8, true}));
    BOOST_TEST(!detail::streams_rows(uneven, 64, at));
    BOOST_TEST(detail::streams_rows(uneven, 1024, at));
    BOOST_TEST(!detail::streams_rows(even, 1024, {bytes, bytes, false}));
}

BOOST_AUTO_TEST_SUITE_END()
