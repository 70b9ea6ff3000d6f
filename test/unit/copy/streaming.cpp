// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/stream_lines.hpp>

#include "support.hpp"
#include "vector_sets.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

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
    constexpr std::size_t most = 600; // twice four pages, and some lines
    auto const source = test::random_bytes(random, 64 * most + 17);
    struct alignas(64) line {
        unsigned char bytes[64];
    };
    for (detail::vector_set const vectors : test::vector_sets())
        for (std::size_t const count : {0u, 1u, 2u, 9u, 255u, 256u, 257u, 600u})
            for (std::size_t const from : {0u, 1u, 17u}) {
                std::vector<line> memory(most + 2);
                auto* const target = reinterpret_cast<unsigned char*>(memory.data());
                std::fill_n(target, memory.size() * 64, static_cast<unsigned char>(0xaa));
                std::vector<unsigned char> wanted(memory.size() * 64, 0xaa);
                std::copy_n(source.data() + from, 64 * count, wanted.data() + 64);
                detail::stream_lines(vectors, target + 64, source.data() + from, count);
                detail::streaming_fence();
                BOOST_TEST(std::equal(wanted.begin(), wanted.end(), target),
                           count << " lines from " << from << " with " << test::text(vectors));
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
