// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/lanes512.hpp>

#include "vector_support.hpp"

#include <numeric>

using namespace reshard;
using namespace reshard::test;

#if defined(__x86_64__)

BOOST_AUTO_TEST_SUITE(lanes512)

BOOST_AUTO_TEST_CASE(the_first_lanes_are_the_lowest_bits) {
    BOOST_TEST(detail::first_lanes(0) == 0);
    BOOST_TEST(detail::first_lanes(1) == 1);
    BOOST_TEST(detail::first_lanes(5) == 0x1f);
    BOOST_TEST(detail::first_lanes(16) == detail::all_lanes);
}

template <index_t Size>
[[gnu::target("avx512bw,avx512dq,avx512vl")]] void
copy_lanes(unsigned char const* source, unsigned char* target, index_t count) {
    __mmask16 const lanes = detail::first_lanes(count);
    detail::write_lanes(detail::read_lanes<Size>(source, lanes), target, lanes);
}

template <index_t Size>
index_t wrong_after_copying_lanes(index_t count) {
    auto const bytes = static_cast<std::size_t>(count * Size);
    std::vector<unsigned char> given(bytes, 7); // nothing may be read after it
    std::vector<unsigned char> made(16 * Size, 0xee);
    copy_lanes<Size>(given.data(), made.data(), count);
    return std::count(made.begin(), made.begin() + count * Size, 7) != count * Size ||
           std::count(made.begin() + count * Size, made.end(), 0xee) != (16 - count) * Size;
}

BOOST_AUTO_TEST_CASE(the_first_few_are_read_and_written_and_nothing_else) {
    if (can_test(detail::vector_set::avx512))
        for (index_t count = 1; count <= 16; ++count)
            BOOST_TEST(wrong_after_copying_lanes<2>(count) + wrong_after_copying_lanes<4>(count) +
                           wrong_after_copying_lanes<8>(count) ==
                       0);
}

template <index_t Size>
[[gnu::target("avx512bw,avx512dq,avx512vl")]] void
copy_fours(unsigned char const* source, index_t pitch, unsigned char* target) {
    auto const fours = detail::read_fours<Size>(source, pitch);
    std::memcpy(target, &fours, sizeof fours);
}

template <index_t Size>
void check_fours() {
    constexpr index_t pitch = 37;
    std::vector<unsigned char> given(3 * pitch + 4 * Size);
    std::iota(given.begin(), given.end(), static_cast<unsigned char>(0));
    std::vector<unsigned char> made(16 * Size);
    copy_fours<Size>(given.data(), pitch, made.data());
    for (index_t line = 0; line < 4; ++line)
        BOOST_TEST(std::equal(made.begin() + line * 4 * Size, made.begin() + (line + 1) * 4 * Size,
                              given.begin() + line * pitch));
}

BOOST_AUTO_TEST_CASE(four_elements_of_each_of_four_lines_are_read_line_by_line) {
    if (can_test(detail::vector_set::avx512)) {
        check_fours<1>();
        check_fours<2>();
        check_fours<4>();
        check_fours<8>();
    }
}

BOOST_AUTO_TEST_SUITE_END()

#endif
