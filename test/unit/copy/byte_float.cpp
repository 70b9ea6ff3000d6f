// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/byte_float.hpp>

#include <reshard/copy/convert.hpp>

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(byte_floats)

namespace {

constexpr data_type types[] = {data_type::f4,         data_type::f6_e2m3, data_type::f6_e3m2,
                               data_type::f8_e5m2,    data_type::f8_e4m3, data_type::f8_e4m3fnuz,
                               data_type::f8_e5m2fnuz};

/// The bf16 as registers of 32 bytes work it out.
unsigned computed(detail::byte_float const& format, unsigned bits) {
    unsigned const magnitude = bits & 0x7f;
    std::size_t const table = magnitude < 0x10 ? 0 : magnitude >= 0x70 ? 1 : 2;
    unsigned const lower = format.lower[table][bits % 16];
    unsigned const upper = (format.upper[table][bits % 16] + format.added[bits / 16]) & 0xffu;
    return format.has_only_nan() && bits == 0x80 ? 0xffc0 : upper << 8 | lower;
}

/// The tables of all products with a scale.
detail::byte_float products(data_type dtype, float scale) {
    detail::byte_float result;
    for (unsigned bits = 0; bits < 256; ++bits) {
        auto const value =
            std::bit_cast<float>(static_cast<std::uint32_t>(convert(dtype, data_type::f32, bits)));
        result.bf16[bits] = static_cast<std::uint16_t>(
            convert(data_type::f32, data_type::bf16, std::bit_cast<std::uint32_t>(value * scale)));
    }
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(tables_have_the_bf16_of_every_pattern) {
    for (data_type const dtype : types) {
        detail::byte_float const* const format = detail::find_byte_float(dtype);
        BOOST_REQUIRE(format);
        for (unsigned bits = 0; bits < 1u << reshard::bits(dtype); ++bits) {
            auto const wanted = convert(dtype, data_type::bf16, bits);
            BOOST_TEST(format->bf16[bits] == wanted, name(dtype) << " " << bits);
            if (reshard::bits(dtype) == 8)
                BOOST_TEST(computed(*format, bits) == wanted, name(dtype) << " " << bits);
        }
    }
}

// Within the range of normal numbers, an exponent more is always the same difference.
BOOST_AUTO_TEST_CASE(products_with_a_scale_have_tables_unless_they_are_subnormal_or_overflow) {
    using enum data_type;
    for (data_type const dtype : {f8_e4m3, f8_e5m2}) {
        for (float const scale : {1.F, .37F, 448.F, 1.999F, 1e-20F, 1e20F, 3e-30F}) {
            detail::byte_float table = products(dtype, scale);
            BOOST_REQUIRE(table.divide());
            for (unsigned bits = 0; bits < 256; ++bits)
                BOOST_TEST(computed(table, bits) == table.bf16[bits], scale << " " << bits);
        }
        for (float const scale : {1e-38F, 1e37F, -1.F, -0.F})
            BOOST_TEST(!products(dtype, scale).divide(), scale);
    }
    BOOST_TEST(!products(f8_e4m3fnuz, 2).divide());
}

BOOST_AUTO_TEST_CASE(other_types_have_no_table) {
    using enum data_type;
    for (data_type const dtype : {f8_e8m0, bf16, f16, f32, f64, u8, boolean})
        BOOST_TEST(!detail::find_byte_float(dtype));
}

BOOST_AUTO_TEST_SUITE_END()
