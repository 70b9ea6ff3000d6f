// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/bits.hpp>

#include "support.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(single_bits)

BOOST_AUTO_TEST_CASE(bits_are_read_lowest_first) {
    unsigned char const bytes[] = {0b10110100, 0b00000011};
    BOOST_TEST(detail::read_bits(bytes, 0, 4) == 0b0100u);
    BOOST_TEST(detail::read_bits(bytes, 4, 4) == 0b1011u);
    BOOST_TEST(detail::read_bits(bytes, 6, 6) == 0b001110u);
    BOOST_TEST(detail::read_bits(bytes, 2, 8) == 0b11101101u);
}

BOOST_AUTO_TEST_CASE(writing_changes_those_bits_only) {
    unsigned char bytes[] = {0xff, 0xff};
    detail::write_bits(bytes, 6, 6, 0);
    BOOST_TEST(bytes[0] == 0b00111111);
    BOOST_TEST(bytes[1] == 0b11110000);
    detail::write_bits(bytes, 0, 4, 0xf5); // bits above the lowest four are ignored
    BOOST_TEST(bytes[0] == 0b00110101);
}

BOOST_AUTO_TEST_CASE(single_values_of_every_width_go_to_every_place) {
    std::mt19937 random(40);
    for (int width = 1; width <= 8; ++width)
        for (index_t position = 0; position + width <= 24; ++position) {
            auto bytes = test::random_bytes(random, 3);
            auto wanted = bytes;
            auto const value = static_cast<unsigned>(random() & ((1u << width) - 1));
            test::set_bits(wanted, position, width, value);
            detail::write_bits(bytes.data(), position, width, value);
            BOOST_TEST_REQUIRE((bytes == wanted));
            BOOST_TEST_REQUIRE(detail::read_bits(bytes.data(), position, width) == value);
        }
}

BOOST_AUTO_TEST_CASE(runs_of_bits_go_from_any_place_to_any_other) {
    std::mt19937 random(41);
    for (int round = 0; round < 2000; ++round) {
        auto const source = test::random_bytes(random, 12);
        auto target = test::random_bytes(random, 12);
        index_t const count = test::draw(random, 0, 70);
        index_t const from = test::draw(random, 0, 96 - count);
        index_t const to = test::draw(random, 0, 96 - count);
        auto wanted = target;
        for (index_t i = 0; i < count; ++i)
            test::set_bits(wanted, to + i, 1, test::get_bits(source, from + i, 1));
        detail::copy_bits({source.data(), from}, target.data(), to, count);
        BOOST_TEST_REQUIRE((target == wanted));
    }
}

BOOST_AUTO_TEST_SUITE_END()
