// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/float_format.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(float_formats)

BOOST_AUTO_TEST_CASE(the_largest_finite_patterns_are_the_standards) {
    BOOST_TEST(largest_finite(format_f64) == 0x7fefffffffffffffu);
    BOOST_TEST(largest_finite(format_f32) == 0x7f7fffffu);
    BOOST_TEST(largest_finite(format_bf16) == 0x7f7fu);
    BOOST_TEST(largest_finite(format_f16) == 0x7bffu);       // 65504
    BOOST_TEST(largest_finite(format_f8_e5m2) == 0x7bu);     // 57344
    BOOST_TEST(largest_finite(format_f8_e4m3) == 0x7eu);     // 448
    BOOST_TEST(largest_finite(format_f8_e5m2fnuz) == 0x7fu); // 57344
    BOOST_TEST(largest_finite(format_f8_e4m3fnuz) == 0x7fu); // 240
    BOOST_TEST(largest_finite(format_f8_e8m0) == 0xfeu);     // 2^127
    BOOST_TEST(largest_finite(format_f6_e3m2) == 0x1fu);     // 28
    BOOST_TEST(largest_finite(format_f6_e2m3) == 0x1fu);     // 7.5
    BOOST_TEST(largest_finite(format_f4) == 0x7u);           // 6
}

BOOST_AUTO_TEST_CASE(each_family_has_its_own_nans) {
    BOOST_TEST(is_nan(format_f32, 0x7f800001));
    BOOST_TEST(is_nan(format_f32, 0xffc00000));
    BOOST_TEST(!is_nan(format_f32, 0x7f800000));
    BOOST_TEST(!is_nan(format_f32, 0xff800000));
    BOOST_TEST(is_nan(format_f8_e5m2, 0x7d));
    BOOST_TEST(!is_nan(format_f8_e5m2, 0x7c));
    BOOST_TEST(is_nan(format_f8_e4m3, 0x7f));
    BOOST_TEST(is_nan(format_f8_e4m3, 0xff));
    BOOST_TEST(!is_nan(format_f8_e4m3, 0x7e));
    BOOST_TEST(is_nan(format_f8_e4m3fnuz, 0x80));
    BOOST_TEST(!is_nan(format_f8_e4m3fnuz, 0xff));
    BOOST_TEST(is_nan(format_f8_e8m0, 0xff));
    for (std::uint64_t bits = 0; bits < 64; ++bits)
        BOOST_TEST((!is_nan(format_f4, bits % 16) && !is_nan(format_f6_e2m3, bits)));
}

BOOST_AUTO_TEST_CASE(what_is_too_large_becomes_infinity_or_nan_or_the_largest) {
    BOOST_TEST(overflow_bits(format_f16) == 0x7c00u);
    BOOST_TEST(overflow_bits(format_f8_e5m2) == 0x7cu);
    BOOST_TEST(overflow_bits(format_f8_e4m3) == 0x7fu);
    BOOST_TEST(overflow_bits(format_f8_e5m2fnuz) == 0x80u);
    BOOST_TEST(overflow_bits(format_f8_e8m0) == 0xffu);
    BOOST_TEST(overflow_bits(format_f6_e3m2) == 0x1fu);
}

BOOST_AUTO_TEST_CASE(only_powers_have_no_sign) {
    BOOST_TEST(sign_mask(format_f8_e8m0) == 0u);
    BOOST_TEST(sign_mask(format_f4) == 8u);
    BOOST_TEST(sign_mask(format_f6_e2m3) == 32u);
    BOOST_TEST(sign_mask(format_bf16) == 0x8000u);
    BOOST_TEST(fraction_mask(format_f16) == 0x3ffu);
    BOOST_TEST(magnitude_mask(format_f32) == 0x7fffffffu);
}

BOOST_AUTO_TEST_SUITE_END()
