// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/convert.hpp>

#include <reshard/core/step_chain.hpp>

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using dtype = data_type;

BOOST_AUTO_TEST_SUITE(converting)

namespace {

std::uint64_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

std::uint64_t f32_to(dtype target, float value) {
    return convert(dtype::f32, target, bits_of(value));
}

float to_f32(dtype source, std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(convert(source, dtype::f32, bits)));
}

/// A small format by its definition: the value of `bits`, with the field widths written out.
double defined_value(std::uint64_t bits, int exponent_bits, int fraction_bits, int bias) {
    auto const fraction = static_cast<double>(bits & ((1u << fraction_bits) - 1));
    auto const field = static_cast<int>((bits >> fraction_bits) & ((1u << exponent_bits) - 1));
    double const sign = (bits >> (exponent_bits + fraction_bits)) & 1 ? -1 : 1;
    double const unit = std::ldexp(1.0, -fraction_bits);
    return field == 0 ? sign * std::ldexp(fraction * unit, 1 - bias)
                      : sign * std::ldexp(1 + fraction * unit, field - bias);
}

struct small_format {
    dtype type;
    int exponent_bits;
    int fraction_bits;
    int bias;
    std::uint64_t largest; ///< the pattern of the largest finite number
};

small_format const small_formats[] = {
    {dtype::f4, 2, 1, 1, 0x7},
    {dtype::f6_e2m3, 2, 3, 1, 0x1f},
    {dtype::f6_e3m2, 3, 2, 3, 0x1f},
    {dtype::f8_e5m2, 5, 2, 15, 0x7b},
    {dtype::f8_e4m3, 4, 3, 7, 0x7e},
    {dtype::f8_e4m3fnuz, 4, 3, 8, 0x7f},
    {dtype::f8_e5m2fnuz, 5, 2, 16, 0x7f},
    {dtype::f16, 5, 10, 15, 0x7bff},
};

/// The nearest finite pattern by search, of two equally near ones the even one.
std::uint64_t nearest(small_format const& format, double magnitude) {
    std::uint64_t best = 0;
    double best_distance = magnitude;
    for (std::uint64_t bits = 1; bits <= format.largest; ++bits) {
        double const distance =
            std::fabs(defined_value(bits, format.exponent_bits, format.fraction_bits, format.bias) -
                      magnitude);
        if (distance < best_distance || (distance == best_distance && bits % 2 == 0)) {
            best = bits;
            best_distance = distance;
        }
    }
    return best;
}

} // namespace

BOOST_AUTO_TEST_CASE(f32_to_bf16_rounds_as_the_table_says) {
    struct {
        std::uint64_t f32;
        std::uint64_t bf16;
    } const table[] = {
        {0x00000000, 0x0000}, {0x80000000, 0x8000}, {0x3f800000, 0x3f80},
        {0x3f808000, 0x3f80}, // tie, even below
        {0x3f818000, 0x3f82}, // tie, even above
        {0x3f808001, 0x3f81}, {0x3f807fff, 0x3f80}, {0x3fffffff, 0x4000},
        {0x7f7fffff, 0x7f80}, // overflow by rounding
        {0x7f7f7fff, 0x7f7f}, {0x7f800000, 0x7f80}, {0xff800000, 0xff80},
        {0x00000001, 0x0000}, {0x00008000, 0x0000}, {0x00008001, 0x0001}, // subnormal
        {0x00018000, 0x0002}, {0x007fffff, 0x0080}, // subnormal to the smallest normal number
        {0x7fc00000, 0x7fc0}, {0xffffffff, 0xffff}, {0x7f800001, 0x7fc0},
        {0x7fa00000, 0x7fa0},
    };
    for (auto const& row : table)
        BOOST_TEST(convert(dtype::f32, dtype::bf16, row.f32) == row.bf16, std::hex << row.f32);
}

BOOST_AUTO_TEST_CASE(f32_to_f16_rounds_as_the_table_says) {
    struct {
        std::uint64_t f32;
        std::uint64_t f16;
    } const table[] = {
        {0x00000000, 0x0000}, {0x80000000, 0x8000}, {0x3f800000, 0x3c00},
        {0xc0000000, 0xc000}, {0x3f801000, 0x3c00}, // tie, even below
        {0x3f803000, 0x3c02},                       // tie, even above
        {0x3f801001, 0x3c01}, {0x477fe000, 0x7bff}, // 65504
        {0x477fefff, 0x7bff}, {0x477ff000, 0x7c00}, // 65519.99 and 65520
        {0x7f7fffff, 0x7c00}, {0x7f800000, 0x7c00}, {0xff800000, 0xfc00},
        {0x38800000, 0x0400}, // 2^-14, the smallest normal number
        {0x387fc000, 0x03ff}, {0x387ff000, 0x0400}, {0x33800000, 0x0001}, // 2^-24
        {0x33000000, 0x0000}, {0x33000001, 0x0001}, // the tie 2^-25, and just above
        {0x33c00000, 0x0002},                       // 1.5 * 2^-24: tie, even above
        {0x00000001, 0x0000}, {0x7fc00000, 0x7e00}, {0x7f800001, 0x7e00},
        {0xffabc000, 0xfd5e},
    };
    for (auto const& row : table)
        BOOST_TEST(convert(dtype::f32, dtype::f16, row.f32) == row.f16, std::hex << row.f32);
}

BOOST_AUTO_TEST_CASE(f64_to_f16_rounds_once_not_by_way_of_f32) {
    // just above the tie between 1 and 1 + 2^-10: as a f32 it would be the tie itself
    double const above_tie = 1 + 0x1p-11 + 0x1p-40;
    BOOST_TEST(convert(dtype::f64, dtype::f16, bits_of(above_tie)) == 0x3c01u);
    double const above_bf16_tie = 1 + 0x1p-8 + 0x1p-45;
    BOOST_TEST(convert(dtype::f64, dtype::bf16, bits_of(above_bf16_tie)) == 0x3f81u);
}

BOOST_AUTO_TEST_CASE(every_f16_and_bf16_comes_back_from_f32_and_f64) {
    for (std::uint64_t bits = 0; bits < 0x10000; ++bits)
        for (dtype const narrow : {dtype::f16, dtype::bf16})
            for (dtype const wide : {dtype::f32, dtype::f64})
                if (convert(wide, narrow, convert(narrow, wide, bits)) != bits)
                    BOOST_ERROR(name(narrow) << " 0x" << std::hex << bits);
}

BOOST_AUTO_TEST_CASE(every_bf16_is_the_upper_half_of_its_f32) {
    for (std::uint64_t bits = 0; bits < 0x10000; ++bits)
        if (convert(dtype::bf16, dtype::f32, bits) != bits << 16)
            BOOST_ERROR("0x" << std::hex << bits);
}

BOOST_AUTO_TEST_CASE(every_small_pattern_has_its_defined_value) {
    for (auto const& format : small_formats)
        for (std::uint64_t const sign : {0u, 1u})
            for (std::uint64_t magnitude = 0; magnitude <= format.largest; ++magnitude) {
                std::uint64_t const bits =
                    magnitude | sign << (format.exponent_bits + format.fraction_bits);
                if (is_nan(*float_format_of(format.type), bits))
                    continue; // the pattern of minus zero
                double const wanted =
                    defined_value(bits, format.exponent_bits, format.fraction_bits, format.bias);
                if (static_cast<double>(to_f32(format.type, bits)) != wanted)
                    BOOST_ERROR(name(format.type) << " 0x" << std::hex << bits);
            }
}

BOOST_AUTO_TEST_CASE(the_patterns_of_f8_that_are_no_numbers) {
    BOOST_TEST(std::isnan(to_f32(dtype::f8_e4m3, 0x7f)));
    BOOST_TEST(std::isnan(to_f32(dtype::f8_e4m3, 0xff)));
    BOOST_TEST(to_f32(dtype::f8_e5m2, 0x7c) == INFINITY);
    BOOST_TEST(to_f32(dtype::f8_e5m2, 0xfc) == -INFINITY);
    for (std::uint64_t const bits : {0x7du, 0x7eu, 0x7fu, 0xfdu, 0xfeu, 0xffu}) {
        BOOST_TEST(std::isnan(to_f32(dtype::f8_e5m2, bits)));
        BOOST_TEST(convert(dtype::f32, dtype::f8_e5m2, convert(dtype::f8_e5m2, dtype::f32, bits)) ==
                   bits);
    }
    BOOST_TEST(std::isnan(to_f32(dtype::f8_e4m3fnuz, 0x80)));
    BOOST_TEST(std::isnan(to_f32(dtype::f8_e5m2fnuz, 0x80)));
    BOOST_TEST(std::isnan(to_f32(dtype::f8_e8m0, 0xff)));
}

BOOST_AUTO_TEST_CASE(every_power_of_e8m0_is_right_and_comes_back) {
    for (std::uint64_t bits = 0; bits < 255; ++bits) {
        BOOST_TEST(to_f32(dtype::f8_e8m0, bits) == std::ldexp(1.0f, static_cast<int>(bits) - 127));
        BOOST_TEST(f32_to(dtype::f8_e8m0, to_f32(dtype::f8_e8m0, bits)) == bits);
    }
}

BOOST_AUTO_TEST_CASE(random_numbers_take_the_nearest_pattern) {
    std::mt19937 random(21);
    for (auto const& format : small_formats) {
        double const largest =
            defined_value(format.largest, format.exponent_bits, format.fraction_bits, format.bias);
        int const rounds = format.type == dtype::f16 ? 200 : 3000;
        for (int round = 0; round < rounds; ++round) {
            std::uniform_real_distribution<double> exponent(-20, std::log2(largest));
            double const magnitude = std::min(std::exp2(exponent(random)), largest);
            bool const negative = random() % 2 != 0;
            auto wanted = nearest(format, magnitude);
            bool const keeps_sign = wanted != 0 || (format.type != dtype::f8_e4m3fnuz &&
                                                    format.type != dtype::f8_e5m2fnuz);
            if (negative && keeps_sign)
                wanted |= 1u << (format.exponent_bits + format.fraction_bits);
            double const value = negative ? -magnitude : magnitude;
            BOOST_TEST_REQUIRE(convert(dtype::f64, format.type, bits_of(value)) == wanted,
                               name(format.type) << " of " << value);
        }
    }
}

BOOST_AUTO_TEST_CASE(f32_and_f64_agree_with_the_hardware) {
    std::mt19937_64 random(22);
    for (int round = 0; round < 20000; ++round) {
        auto const f32 = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        auto const f64 = std::bit_cast<double>(random());
        if (!std::isnan(f32))
            BOOST_TEST_REQUIRE(convert(dtype::f32, dtype::f64, bits_of(f32)) ==
                               bits_of(static_cast<double>(f32)));
        float const near = static_cast<float>(random()) * 0x1p-30f;
        double const scaled = std::ldexp(f64, -static_cast<int>(random() % 64));
        double const values[] = {static_cast<double>(near) * (1 + 0x1p-25),
                                 std::fmod(scaled, 1e38)};
        for (double const value : values)
            if (!std::isnan(value))
                BOOST_TEST_REQUIRE(convert(dtype::f64, dtype::f32, bits_of(value)) ==
                                   bits_of(static_cast<float>(value)));
    }
}

BOOST_AUTO_TEST_CASE(integers_become_the_nearest_float) {
    std::mt19937_64 random(23);
    for (int round = 0; round < 5000; ++round) {
        std::uint64_t const bits = random() >> (random() % 64);
        auto const signed_value = static_cast<std::int64_t>(bits);
        BOOST_TEST_REQUIRE(convert(dtype::u64, dtype::f64, bits) ==
                           bits_of(static_cast<double>(bits)));
        BOOST_TEST_REQUIRE(convert(dtype::u64, dtype::f32, bits) ==
                           bits_of(static_cast<float>(bits)));
        BOOST_TEST_REQUIRE(convert(dtype::i64, dtype::f64, bits) ==
                           bits_of(static_cast<double>(signed_value)));
        BOOST_TEST_REQUIRE(convert(dtype::i64, dtype::f32, 0 - bits) ==
                           bits_of(static_cast<float>(static_cast<std::int64_t>(0 - bits))));
    }
    BOOST_TEST(convert(dtype::i8, dtype::bf16, 0x80) == 0xc300u); // -128
    BOOST_TEST(convert(dtype::u64, dtype::f16, 70000) == 0x7c00u);
}

BOOST_AUTO_TEST_CASE(integers_of_64_bits_pass_without_a_float_between) {
    BOOST_TEST(convert(dtype::i64, dtype::u64, 0x7fffffffffffffff) == 0x7fffffffffffffffu);
    BOOST_TEST(convert(dtype::u64, dtype::i64, 0x7ffffffffffffffe) == 0x7ffffffffffffffeu);
    BOOST_TEST(convert(dtype::u64, dtype::i64, 0xffffffffffffffff) == 0x7fffffffffffffffu);
    BOOST_TEST(convert(dtype::i64, dtype::u64, 0xffffffffffffffff) == 0u); // -1
    BOOST_TEST(convert(dtype::i64, dtype::i32, 0xffffffff00000000) == 0x80000000u);
    BOOST_TEST(convert(dtype::i64, dtype::i32, 0xfffffffffffffffe) == 0xfffffffeu);
    BOOST_TEST(convert(dtype::i32, dtype::i64, 0x80000000) == 0xffffffff80000000u);
    BOOST_TEST(convert(dtype::i64, dtype::i8, 300) == 127u);
}

BOOST_AUTO_TEST_CASE(floats_become_integers_by_cutting_within_the_bounds) {
    BOOST_TEST(f32_to(dtype::i32, 2.9f) == 2u);
    BOOST_TEST(f32_to(dtype::i32, -2.9f) == 0xfffffffeu);
    BOOST_TEST(f32_to(dtype::u8, 256.0f) == 255u);
    BOOST_TEST(f32_to(dtype::u8, -1.0f) == 0u);
    BOOST_TEST(f32_to(dtype::i64, 1e30f) == 0x7fffffffffffffffu);
    BOOST_TEST(f32_to(dtype::i64, -INFINITY) == 0x8000000000000000u);
    BOOST_TEST(f32_to(dtype::i16, NAN) == 0u);
    BOOST_TEST(convert(dtype::f64, dtype::u64, bits_of(0x1p63)) == 0x8000000000000000u);
}

BOOST_AUTO_TEST_CASE(bool_is_whether_the_value_is_not_zero) {
    BOOST_TEST(f32_to(dtype::boolean, 0.0f) == 0u);
    BOOST_TEST(f32_to(dtype::boolean, -0.0f) == 0u);
    BOOST_TEST(f32_to(dtype::boolean, 1e-45f) == 1u);
    BOOST_TEST(f32_to(dtype::boolean, NAN) == 1u);
    BOOST_TEST(f32_to(dtype::boolean, INFINITY) == 1u);
    BOOST_TEST(convert(dtype::i64, dtype::boolean, 0x100000000) == 1u);
    BOOST_TEST(convert(dtype::boolean, dtype::f32, 1) == bits_of(1.0f));
    BOOST_TEST(convert(dtype::boolean, dtype::u8, 2) == 1u);
    BOOST_TEST(convert(dtype::boolean, dtype::boolean, 2) == 2u); // no cast: bits stay
}

BOOST_AUTO_TEST_CASE(real_numbers_do_not_become_complex_nor_the_other_way) {
    BOOST_CHECK_EXCEPTION(f32_to(dtype::c64, 1.5f), error, [](error const& problem) {
        return problem.code() == errc::dtype_mismatch;
    });
    BOOST_TEST(convert(dtype::c64, dtype::c64, 0x123456789) == 0x123456789u);
    BOOST_CHECK_EXCEPTION(convert(dtype::c64, dtype::f64, 0), error, [](error const& problem) {
        return problem.code() == errc::dtype_mismatch &&
               std::string(problem.what()).find("float64") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(casts_that_are_called_lossless_lose_no_bit) {
    for (std::size_t i = 0; i < data_type_count; ++i)
        for (std::size_t k = 0; k < data_type_count; ++k) {
            auto const narrow = static_cast<dtype>(i);
            auto const wide = static_cast<dtype>(k);
            if (bits(narrow) > 16 || narrow == dtype::boolean || !is_lossless(narrow, wide))
                continue;
            for (std::uint64_t element = 0; element < std::uint64_t{1} << bits(narrow); ++element)
                if (convert(wide, narrow, convert(narrow, wide, element)) != element)
                    BOOST_ERROR(name(narrow)
                                << " 0x" << std::hex << element << " by way of " << name(wide));
        }
}

BOOST_AUTO_TEST_CASE(conversions_can_be_evaluated_by_the_compiler) {
    static_assert(convert(dtype::f32, dtype::bf16, 0x3f818000) == 0x3f82);
    static_assert(convert(dtype::i64, dtype::f8_e4m3, 448) == 0x7e);
    BOOST_TEST(!float_format_of(dtype::i32).has_value());
    BOOST_TEST(!float_format_of(dtype::c64).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
