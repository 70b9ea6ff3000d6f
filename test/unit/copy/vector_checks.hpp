// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_UNIT_COPY_VECTOR_CHECKS_HPP
#define RESHARD_TEST_UNIT_COPY_VECTOR_CHECKS_HPP

#include "support.hpp"
#include "vector_support.hpp"

/// \file
/// Checks of rows and squares at every position, for any registers.

namespace reshard::test {

/// Rows of every length at every place are written, and nothing else.
inline void check_rows(detail::vector_set set) {
    if (!can_test(set))
        return;
    std::mt19937 random(7);
    for (pair_of_types const& cast : casts()) {
        auto const vectors = cast.vectors(set);
        index_t const size = cast.target_size();
        std::vector<unsigned char> const source = test::random_bytes(random, 300 * 8);
        index_t wrong = 0;
        for (index_t skew = 0; skew < 64; ++skew) {
            unsigned char const* const from = source.data() + skew % 32;
            std::vector<unsigned char> const all = expected(cast, from, 200);
            for (bool const streaming : {false, true})
                for (index_t count = 0; count <= 200; ++count) {
                    std::vector<unsigned char> memory(static_cast<std::size_t>(200 * size + 256),
                                                      0xee);
                    std::vector<unsigned char> wanted = memory;
                    unsigned char* const to = skewed(memory, skew + 1);
                    vectors.row(from, to, count, streaming);
                    detail::streaming_fence();
                    std::copy_n(all.begin(), count * size, wanted.begin() + (to - memory.data()));
                    wrong += memory != wanted;
                }
        }
        BOOST_TEST(wrong == 0, cast.text() << " with " << text(set));
    }
}

/// Rows so long that several parts of them are converted in step are written whole.
inline void check_long_rows(detail::vector_set set) {
    if (!can_test(set))
        return;
    std::mt19937 random(9);
    for (pair_of_types const& cast : casts())
        for (index_t const count : {16'384, 16'500, 40'001}) {
            std::vector<unsigned char> const source =
                test::random_bytes(random, static_cast<std::size_t>(count * cast.source_size()));
            std::vector<unsigned char> const all = expected(cast, source.data(), count);
            std::vector<unsigned char> memory(all.size() + 256, 0xee);
            unsigned char* const to = skewed(memory, 64 - cast.target_size()); // a head of one
            cast.vectors(set).row(source.data(), to, count, true);
            detail::streaming_fence();
            BOOST_TEST(std::equal(all.begin(), all.end(), to),
                       count << " times " << cast.text() << " with " << text(set));
            BOOST_TEST((to[-1] == 0xee && to[all.size()] == 0xee));
        }
}

/// Squares are turned and converted, and nothing else is written.
inline void check_squares(detail::vector_set set) {
    if (!can_test(set))
        return;
    std::mt19937 random(8);
    for (pair_of_types const& cast : casts())
        for (bool const streaming : {false, true})
            for (bool const has_nan : {false, true}) {
                auto const vectors = cast.vectors(set);
                index_t const lines = detail::square_lines(cast.source_size());
                index_t const width = detail::square_width(cast.source_size(), cast.target_size());
                index_t const pitch = 64 + 24, target_pitch = width * cast.target_size() + 64;
                std::vector<unsigned char> source =
                    test::random_bytes(random, static_cast<std::size_t>(width * pitch + 1));
                auto const at = [&](index_t i, index_t j) {
                    return source.data() + 1 + j * pitch + i * cast.source_size();
                };
                for (index_t i = 0; i < lines; ++i) // numbers near one, or one NaN among them
                    for (index_t j = 0; j < width; ++j) {
                        std::uint64_t const index =
                            convert(data_type::f32, cast.source, 0x3f800000 + random() % 0x800000);
                        std::memcpy(at(i, j), &index, static_cast<std::size_t>(cast.source_size()));
                    }
                if (has_nan)
                    std::memset(at(lines - 1, 3), 0x7f,
                                static_cast<std::size_t>(cast.source_size()));
                std::vector<unsigned char> memory(
                    static_cast<std::size_t>(lines * target_pitch + 192), 0xee);
                unsigned char* const target = skewed(memory, 64);
                vectors.square({source.data() + 1, pitch}, {target, target_pitch}, streaming);
                detail::streaming_fence();
                index_t wrong = target[-1] != 0xee;
                for (index_t i = 0; i < lines; ++i) {
                    for (index_t j = 0; j < width; ++j)
                        wrong += element(target + i * target_pitch, j, cast.target_size()) !=
                                 convert(cast.source, cast.target,
                                         element(at(i, j), 0, cast.source_size()));
                    wrong += target[i * target_pitch + width * cast.target_size()] != 0xee;
                }
                BOOST_TEST(wrong == 0, cast.text() << " with " << text(set));
            }
}

} // namespace reshard::test

#endif
