// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/byte_float.hpp>

#include <reshard/copy/convert.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(byte_floats)

namespace {

constexpr data_type types[] = {data_type::f4,         data_type::f6_e2m3, data_type::f6_e3m2,
                               data_type::f8_e5m2,    data_type::f8_e4m3, data_type::f8_e4m3fnuz,
                               data_type::f8_e5m2fnuz};

/// The bf16 as wide registers work it out.
unsigned computed(detail::byte_float const& format, unsigned bits) {
    unsigned const magnitude = bits & 0x7f;
    bool const is_special = magnitude > format.largest || (bits | bits << 8) == format.only_nan;
    unsigned const low = format.small[magnitude & 7];
    unsigned const high = format.small[(magnitude & 7) + 8];
    unsigned const small = low | high << 8;
    unsigned const value =
        magnitude < format.first_normal ? small : magnitude * format.factor + format.rebias;
    return ((value + (is_special ? format.special_rebias : 0)) & 0xffff) | (bits & 0x80) << 8;
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

BOOST_AUTO_TEST_CASE(other_types_have_no_table) {
    using enum data_type;
    for (data_type const dtype : {f8_e8m0, bf16, f16, f32, f64, u8, boolean})
        BOOST_TEST(!detail::find_byte_float(dtype));
}

BOOST_AUTO_TEST_SUITE_END()
