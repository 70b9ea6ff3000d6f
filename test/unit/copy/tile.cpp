// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/loops.hpp>

#include "support.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(tiles)

namespace {

template <std::size_t Size>
void turns_every_extent(std::mt19937& random) {
    constexpr index_t size = Size;
    for (index_t lines : {1, 2, 7, 8, 16, 17, 40})
        for (index_t width : {1, 3, 8, 15, 16, 33, 64}) {
            index_t const pitch = (lines + 5) * size + 3;
            auto const source = test::random_bytes(random, static_cast<std::size_t>(width * pitch));
            std::vector<unsigned char> tile(static_cast<std::size_t>(lines * width * size));
            detail::gather_tile<Size>(source.data(), pitch, {lines, width}, tile.data());
            bool is_right = true;
            for (index_t i = 0; i < lines; ++i)
                for (index_t j = 0; j < width; ++j)
                    for (index_t byte = 0; byte < size; ++byte)
                        is_right =
                            is_right &&
                            tile[static_cast<std::size_t>((i * width + j) * size + byte)] ==
                                source[static_cast<std::size_t>(j * pitch + i * size + byte)];
            BOOST_TEST(is_right, lines << " lines of " << width << " elements of " << size);
        }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_square_is_transposed) {
    std::vector<std::uint32_t> const source{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    std::vector<std::uint32_t> target(16);
    detail::transpose_square<4>(reinterpret_cast<unsigned char const*>(source.data()), 16,
                                reinterpret_cast<unsigned char*>(target.data()), 16);
    BOOST_TEST((target ==
                std::vector<std::uint32_t>{1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 4, 8, 12, 16}));
}

BOOST_AUTO_TEST_CASE(tiles_of_every_extent_are_turned) {
    std::mt19937 random(61);
    turns_every_extent<1>(random);
    turns_every_extent<2>(random);
    turns_every_extent<4>(random);
    turns_every_extent<8>(random);
}

BOOST_AUTO_TEST_CASE(the_largest_tiles_fit_their_buffer) {
    for (index_t const size : {1, 2, 4, 8}) {
        auto const wide = detail::wide_tile(size);
        BOOST_TEST(wide.lines * wide.width * size <= detail::tile_bytes);
        for (index_t const target_size : {1, 2, 4, 8}) {
            auto const narrow = detail::narrow_tile(size, target_size);
            BOOST_TEST(narrow.lines * narrow.width * size <= detail::tile_bytes);
            BOOST_TEST(narrow.width * target_size % 64 == 0);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
