// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/stream_lines.hpp>

#include "support.hpp"
#include "vector_sets.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(blocks_that_stream)

namespace {

struct alignas(64) line {
    unsigned char bytes[64];
};

/// Three blocks of `rows` rows side by side in a source, one, two and three times `bytes` bytes
/// wide, and `gap` bytes after each of its rows; in the target each block lies by itself, its rows
/// `gap` bytes apart, `skew` bytes after a line of the cache. True if every byte is right, also
/// between and around the rows.
bool are_right(detail::vector_set vectors, index_t rows, index_t bytes, index_t gap, index_t skew) {
    std::mt19937 random(3);
    index_t const source_pitch = 6 * bytes + gap;
    auto const source =
        test::random_bytes(random, static_cast<std::size_t>(rows * source_pitch + 3));
    std::vector<line> memory(static_cast<std::size_t>(rows * (source_pitch + 2 * gap) + skew) / 64 +
                             2);
    auto* const target = reinterpret_cast<unsigned char*>(memory.data());
    std::fill(target, target + memory.size() * 64, static_cast<unsigned char>(0xaa));
    std::vector<unsigned char> wanted(memory.size() * 64, 0xaa);
    std::vector<detail::row_block> blocks;
    index_t column = 0, index = skew;
    for (index_t width = bytes; width <= 3 * bytes && blocks.size() < 3; width += bytes) {
        blocks.push_back({source.data() + column, target + index, source_pitch, width + gap,
                          static_cast<std::size_t>(width)});
        for (index_t row = 0; row < rows; ++row)
            std::copy_n(source.begin() + column + row * source_pitch, width,
                        wanted.begin() + index + row * (width + gap));
        column += width;
        index += rows * (width + gap);
    }
    detail::stream_blocks(vectors, blocks, rows);
    detail::streaming_fence();
    return std::equal(wanted.begin(), wanted.end(), target);
}

} // namespace

BOOST_AUTO_TEST_CASE(blocks_are_written_row_by_row_and_nothing_else) {
    for (detail::vector_set const vectors : test::vector_sets())
        for (index_t const rows : {0, 1, 4, 5, 300})
            for (index_t const bytes : {0, 1, 63, 64, 65, 128, 256, 1000, 4096})
                for (index_t const gap : {0, 1, 64})
                    for (index_t const skew : {0, 1, 32})
                        BOOST_TEST(are_right(vectors, rows, bytes, gap, skew),
                                   rows << " rows of " << bytes << " bytes, " << gap
                                        << " apart, from " << skew << " with "
                                        << test::text(vectors));
}

BOOST_AUTO_TEST_CASE(rows_that_run_backwards_or_all_to_one_place_are_written) {
    std::mt19937 random(4);
    auto const source = test::random_bytes(random, 64 * 100);
    for (detail::vector_set const vectors : test::vector_sets()) {
        std::vector<line> target(100);
        auto* const last = reinterpret_cast<unsigned char*>(target.data() + 99);
        detail::row_block const backwards{source.data(), last, 64, -64, 64};
        detail::stream_blocks(vectors, {&backwards, 1}, 100);
        detail::streaming_fence();
        for (index_t row = 0; row < 100; ++row)
            BOOST_TEST(std::equal(source.data() + 64 * row, source.data() + 64 * (row + 1),
                                  last - 64 * row),
                       "row " << row << " with " << test::text(vectors));
        detail::row_block const in_place{source.data(), last, 0, 0, 64};
        detail::stream_blocks(vectors, {&in_place, 1}, 9);
        detail::streaming_fence();
        BOOST_TEST(std::equal(source.data(), source.data() + 64, last),
                   "with " << test::text(vectors));
    }
}

BOOST_AUTO_TEST_CASE(a_block_continues_another_where_both_its_sides_do) {
    unsigned char from[128] = {}, to[128] = {};
    detail::row_block const row_block{from, to, 32, 64, 5};
    BOOST_TEST(detail::continues(row_block, {from + 5, to + 5, 32, 64, 9}));
    BOOST_TEST(!detail::continues(row_block, {from + 6, to + 5, 32, 64, 5}));
    BOOST_TEST(!detail::continues(row_block, {from + 5, to + 6, 32, 64, 5}));
    BOOST_TEST(!detail::continues(row_block, {from + 5, to + 5, 31, 64, 5}));
    BOOST_TEST(!detail::continues(row_block, {from + 5, to + 5, 32, 65, 5}));
}

BOOST_AUTO_TEST_CASE(lines_are_whole_where_place_length_and_distance_say_so) {
    alignas(64) unsigned char at[128] = {};
    BOOST_TEST(detail::has_whole_lines({at, at, 7, 128, 64}));
    BOOST_TEST(!detail::has_whole_lines({at, at + 32, 7, 128, 64}));
    BOOST_TEST(!detail::has_whole_lines({at, at, 7, 96, 64}));
    BOOST_TEST(!detail::has_whole_lines({at, at, 7, 128, 65}));
}

BOOST_AUTO_TEST_SUITE_END()
