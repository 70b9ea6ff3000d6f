// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/byte_float.hpp>

#include <reshard/copy/convert.hpp>

#include <boost/test/unit_test.hpp>

#include <random>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(fast_floats)

namespace {

/// Compares with the exact conversion: every narrow pattern, and f32 patterns around every point at
/// which the exponent, a kept bit or the rounding changes.
template <float_format Format>
void agrees_with_convert(data_type dtype) {
    std::uint64_t const patterns = 2 * (magnitude_mask(Format) + 1);
    for (std::uint64_t bits = 0; bits < patterns; ++bits)
        if (detail::widen<Format>(static_cast<std::uint32_t>(bits)) !=
            convert(dtype, data_type::f32, bits))
            BOOST_ERROR("from " << name(dtype) << " 0x" << std::hex << bits);
    auto const check = [&](std::uint32_t bits) {
        if (detail::narrow<Format>(bits) != convert(data_type::f32, dtype, bits))
            BOOST_ERROR("to " << name(dtype) << " from 0x" << std::hex << bits);
    };
    for (std::uint64_t bits = 0; bits < patterns; ++bits) {
        auto const exact = static_cast<std::uint32_t>(convert(dtype, data_type::f32, bits));
        std::uint32_t const half = 1u << (22 - Format.fraction_bits);
        for (std::uint32_t const step : {0u, 1u, half - 1, half, half + 1}) {
            check(exact + step);
            check(exact - step);
        }
    }
    std::mt19937 random(31);
    for (int round = 0; round < 20000; ++round)
        check(static_cast<std::uint32_t>(random()));
}

} // namespace

BOOST_AUTO_TEST_CASE(they_agree_with_exact_conversion) {
    agrees_with_convert<format_bf16>(data_type::bf16);
    agrees_with_convert<format_f16>(data_type::f16);
    agrees_with_convert<format_f8_e5m2>(data_type::f8_e5m2);
    agrees_with_convert<format_f8_e4m3>(data_type::f8_e4m3);
    agrees_with_convert<format_f8_e5m2fnuz>(data_type::f8_e5m2fnuz);
    agrees_with_convert<format_f8_e4m3fnuz>(data_type::f8_e4m3fnuz);
    agrees_with_convert<format_f6_e3m2>(data_type::f6_e3m2);
    agrees_with_convert<format_f6_e2m3>(data_type::f6_e2m3);
    agrees_with_convert<format_f4>(data_type::f4);
}

BOOST_AUTO_TEST_CASE(a_few_by_hand) {
    BOOST_TEST(detail::widen<format_f16>(0x3c00) == 0x3f800000u);
    BOOST_TEST(detail::widen<format_f16>(0x8001) == 0xb3800000u); // -2^-24
    BOOST_TEST(detail::widen<format_f16>(0x7d01) == 0x7fa02000u); // a signalling NaN
    BOOST_TEST(detail::narrow<format_bf16>(0x3f818000) == 0x3f82u);
    BOOST_TEST(detail::narrow<format_f8_e4m3>(0xc3e80000) == 0xfeu); // -464: a tie, -448 is even
    BOOST_TEST(detail::narrow<format_f4>(0x7fc00000) == 0x7u);
    static_assert(detail::narrow<format_f16>(0x477ff000) == 0x7c00);
}

BOOST_AUTO_TEST_SUITE_END()
