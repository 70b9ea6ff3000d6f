// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/convert.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(numbers)

namespace {

number finite(std::uint64_t significand, int exponent, bool negative = false) {
    return {number::kind_type::finite, negative, exponent, significand};
}

double value_of(number const& value) {
    double const magnitude = std::ldexp(static_cast<double>(value.significand), value.exponent);
    return value.negative ? -magnitude : magnitude;
}

} // namespace

BOOST_AUTO_TEST_CASE(decoding_gives_the_values_of_the_formats_definitions) {
    BOOST_TEST(value_of(decode(format_f32, 0x3f800000)) == 1.0);
    BOOST_TEST(value_of(decode(format_f32, 0x00000001)) == 0x1p-149);
    BOOST_TEST(value_of(decode(format_f64, 0xc008000000000000)) == -3.0);
    BOOST_TEST(value_of(decode(format_f16, 0x7bff)) == 65504.0);
    BOOST_TEST(value_of(decode(format_f16, 0x0001)) == 0x1p-24);
    BOOST_TEST(value_of(decode(format_f8_e4m3, 0x7e)) == 448.0);
    BOOST_TEST(value_of(decode(format_f8_e4m3, 0x01)) == 0x1p-9);
    BOOST_TEST(value_of(decode(format_f8_e5m2, 0x7b)) == 57344.0);
    BOOST_TEST(value_of(decode(format_f8_e4m3fnuz, 0x7f)) == 240.0);
    BOOST_TEST(value_of(decode(format_f8_e5m2fnuz, 0x01)) == 0x1p-17);
    BOOST_TEST(value_of(decode(format_f8_e8m0, 0x00)) == 0x1p-127);
    BOOST_TEST(value_of(decode(format_f8_e8m0, 0x7f)) == 1.0);
    BOOST_TEST(value_of(decode(format_f6_e3m2, 0x3f)) == -28.0);
    BOOST_TEST(value_of(decode(format_f6_e2m3, 0x01)) == 0.125);
}

BOOST_AUTO_TEST_CASE(all_sixteen_f4_values_are_right) {
    double const magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    for (std::uint64_t bits = 0; bits < 16; ++bits) {
        BOOST_TEST(value_of(decode(format_f4, bits)) ==
                   (bits < 8 ? magnitudes[bits] : -magnitudes[bits - 8]));
        BOOST_TEST(decode(format_f4, bits).negative == (bits >= 8));
        BOOST_TEST(encode(format_f4, decode(format_f4, bits)) == bits);
    }
}

BOOST_AUTO_TEST_CASE(ties_go_to_the_even_pattern) {
    BOOST_TEST(encode(format_f4, finite(1, -2)) == 0u);               // 0.25, between 0 and 0.5
    BOOST_TEST(encode(format_f4, finite(3, -2)) == 2u);               // 0.75, between 0.5 and 1
    BOOST_TEST(encode(format_f4, finite(5, -1)) == 4u);               // 2.5, between 2 and 3
    BOOST_TEST(encode(format_f4, finite(7, -1)) == 6u);               // 3.5, between 3 and 4
    BOOST_TEST(encode(format_f4, finite(5, 0)) == 6u);                // 5, between 4 and 6
    BOOST_TEST(encode(format_f4, finite(5001, -1000)) == 0u);         // far below
    BOOST_TEST(encode(format_f4, finite((5u << 20) + 1, -20)) == 7u); // just above the tie
}

BOOST_AUTO_TEST_CASE(all_64_bits_of_a_significand_are_rounded_once) {
    // 2^64 - 1 is nearer to 2^64 than to the f32 below it, and so is it for f64
    BOOST_TEST(encode(format_f32, finite(~std::uint64_t{0}, 0)) == 0x5f800000u);
    BOOST_TEST(encode(format_f64, finite(~std::uint64_t{0}, 0)) == 0x43f0000000000000u);
    // a significand whose every bit lies below the smallest subnormal
    BOOST_TEST(encode(format_f32, finite(std::uint64_t{1} << 63, -213)) == 0u); // 2^-150: a tie
    BOOST_TEST(encode(format_f32, finite((std::uint64_t{1} << 63) + 1, -213)) == 1u);
    BOOST_TEST(encode(format_f32, finite(~std::uint64_t{0}, -214)) == 0u);
    BOOST_TEST(encode(format_f32, finite(1, -5000)) == 0u);
    BOOST_TEST(encode(format_f32, finite(1, 5000)) == 0x7f800000u);
}

BOOST_AUTO_TEST_CASE(rounding_up_carries_into_the_exponent_and_into_infinity) {
    BOOST_TEST(encode(format_f16, finite(0xfff, 0)) == 0x6c00u); // 4095 to 4096
    BOOST_TEST(encode(format_f16, finite(65519, 0)) == 0x7bffu); // below the tie
    BOOST_TEST(encode(format_f16, finite(65520, 0)) == 0x7c00u); // the tie: 65536 is out of range
    BOOST_TEST(encode(format_f8_e4m3, finite(464, 0)) == 0x7eu); // the tie: 448 is even
    BOOST_TEST(encode(format_f8_e4m3, finite(465, 0)) == 0x7fu); // NaN
    BOOST_TEST(encode(format_f8_e4m3, finite(465, 0, true)) == 0xffu);
    BOOST_TEST(encode(format_f8_e4m3fnuz, finite(247, 0)) == 0x7fu); // 240
    BOOST_TEST(encode(format_f8_e4m3fnuz, finite(248, 0)) == 0x80u); // the tie: 256 is out of range
    BOOST_TEST(encode(format_f8_e5m2, finite(61440, 0)) == 0x7cu);
    BOOST_TEST(encode(format_f8_e5m2, finite(61439, 0)) == 0x7bu);
    BOOST_TEST(encode(format_f6_e2m3, finite(1000, 0, true)) == 0x3fu); // saturates at -7.5
}

BOOST_AUTO_TEST_CASE(nans_keep_the_part_of_their_payload_that_fits) {
    number const signalling = decode(format_f32, 0xffa12345);
    BOOST_TEST(signalling.is_nan());
    BOOST_TEST(signalling.negative);
    BOOST_TEST(encode(format_f32, signalling) == 0xffa12345u);
    BOOST_TEST(encode(format_bf16, signalling) == 0xffa1u);
    BOOST_TEST(encode(format_f64, signalling) == 0xfff42468a0000000u);
    BOOST_TEST(encode(format_bf16, decode(format_f32, 0x7f800001)) == 0x7fc0u); // none of it fits
    BOOST_TEST(encode(format_f8_e4m3, signalling) == 0xffu);
    BOOST_TEST(encode(format_f8_e4m3fnuz, signalling) == 0x80u);
    BOOST_TEST(encode(format_f8_e8m0, signalling) == 0xffu);
    BOOST_TEST(encode(format_f4, signalling) == 0x7u); // F4 has none: its largest number
    BOOST_TEST(encode(format_f32, decode(format_f8_e4m3, 0xff)) == 0xffc00000u);
}

BOOST_AUTO_TEST_CASE(minus_zero_is_kept_where_it_exists) {
    number const minus_zero = finite(0, 0, true);
    BOOST_TEST(encode(format_f16, minus_zero) == 0x8000u);
    BOOST_TEST(encode(format_f4, minus_zero) == 0x8u);
    BOOST_TEST(encode(format_f8_e4m3fnuz, minus_zero) == 0u);
    BOOST_TEST(encode(format_f8_e4m3fnuz, finite(1, -100, true)) == 0u);
}

BOOST_AUTO_TEST_CASE(powers_of_two_take_the_nearest_and_refuse_what_is_negative) {
    BOOST_TEST(encode(format_f8_e8m0, finite(1, 0)) == 127u);
    BOOST_TEST(encode(format_f8_e8m0, finite(5, -2)) == 127u); // 1.25
    BOOST_TEST(encode(format_f8_e8m0, finite(3, -1)) ==
               128u); // 1.5: the even one of 1 and 2 halves
    BOOST_TEST(encode(format_f8_e8m0, finite(7, -2)) == 128u); // 1.75
    BOOST_TEST(encode(format_f8_e8m0, finite(0, 0)) == 0u);
    BOOST_TEST(encode(format_f8_e8m0, finite(0, 0, true)) == 0u);
    BOOST_TEST(encode(format_f8_e8m0, finite(1, -400)) == 0u);
    BOOST_TEST(encode(format_f8_e8m0, finite(1, 127)) == 254u);
    BOOST_TEST(encode(format_f8_e8m0, finite(3, 126)) == 255u);
    BOOST_TEST(encode(format_f8_e8m0, finite(1, 0, true)) == 255u);
}

BOOST_AUTO_TEST_CASE(integers_are_cut_and_held_within_their_bounds) {
    auto const to_i8 = [](number const& value) {
        return static_cast<std::int64_t>(to_integer(value, 127, 128));
    };
    BOOST_TEST(to_i8(finite(7, -1)) == 3);
    BOOST_TEST(to_i8(finite(7, -1, true)) == -3);
    BOOST_TEST(to_i8(finite(1, 7)) == 127);
    BOOST_TEST(to_i8(finite(1, 7, true)) == -128);
    BOOST_TEST(to_i8(finite(1, 64)) == 127);
    BOOST_TEST(to_i8(finite(1, 700)) == 127);
    BOOST_TEST(to_integer(finite(3, 63), ~std::uint64_t{0}, 0) == ~std::uint64_t{0});
    BOOST_TEST(to_i8(finite(9, 900, true)) == -128);
    BOOST_TEST(to_i8(finite(~std::uint64_t{0}, -64)) == 0);
    BOOST_TEST(to_i8(finite(0, 80)) == 0);
    BOOST_TEST(to_i8({number::kind_type::nan, true, 0, 0}) == 0);
    BOOST_TEST(to_i8({number::kind_type::infinite, true, 0, 0}) == -128);
    BOOST_TEST(to_integer(finite(5, 0, true), 255, 0) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
