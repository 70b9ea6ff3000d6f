// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/streaming.hpp>

#include "support.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(streaming)

BOOST_AUTO_TEST_CASE(every_length_and_alignment_is_copied_and_nothing_else) {
    std::mt19937 random(51);
    auto const source = test::random_bytes(random, 1000);
    for (std::size_t const length : {0u, 1u, 15u, 63u, 64u, 65u, 127u, 128u, 200u, 700u})
        for (std::size_t const from : {0u, 1u, 13u})
            for (std::size_t to = 0; to < 70; to += 3) {
                std::vector<unsigned char> target(1000, 0xaa);
                copy_bytes_streaming(target.data() + to, source.data() + from, length);
                auto wanted = std::vector<unsigned char>(1000, 0xaa);
                for (std::size_t i = 0; i < length; ++i)
                    wanted[to + i] = source[from + i];
                BOOST_TEST_REQUIRE((target == wanted), length << " bytes from " << from);
            }
}

BOOST_AUTO_TEST_CASE(every_kind_of_line_is_the_same) {
    std::mt19937 random(52);
    auto const source = test::random_bytes(random, 700);
    std::vector<void (*)(unsigned char*, unsigned char const*, std::size_t)> kinds{
        detail::stream_lines_portably, detail::stream_lines};
    for (auto const& lines : kinds)
        for (std::size_t const count : {0u, 1u, 2u, 9u})
            for (std::size_t const from : {0u, 1u, 17u}) {
                alignas(64) unsigned char target[704];
                std::fill(std::begin(target), std::end(target), 0xaa);
                lines(target + 64, source.data() + from, count);
                for (std::size_t i = 0; i < sizeof target; ++i)
                    BOOST_TEST_REQUIRE(
                        target[i] ==
                        (i < 64 || i >= 64 + 64 * count ? 0xaa : source[from + i - 64]));
            }
}

BOOST_AUTO_TEST_CASE(nothing_may_come_from_nowhere) { copy_bytes_streaming(nullptr, nullptr, 0); }

BOOST_AUTO_TEST_CASE(the_distance_to_a_line_is_zero_at_a_line) {
    alignas(64) unsigned char bytes[128] = {};
    BOOST_TEST(detail::bytes_to_line(bytes) == 0u);
    BOOST_TEST(detail::bytes_to_line(bytes + 1) == 63u);
    BOOST_TEST(detail::bytes_to_line(bytes + 64) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
