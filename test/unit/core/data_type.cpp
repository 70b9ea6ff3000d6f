// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/data_type.hpp>

#include <boost/test/unit_test.hpp>

#include <complex>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(data_types)

BOOST_AUTO_TEST_CASE(every_safetensors_code_has_its_size) {
    struct {
        std::string_view code;
        int bits;
    } const table[] = {
        {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
        {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
        {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
        {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
        {"I64", 64},        {"U64", 64},    {"C128", 128},
    };
    BOOST_TEST(std::size(table) == data_type_count);
    for (auto const& row : table) {
        auto const dtype = data_type_from_code(row.code);
        BOOST_TEST_REQUIRE(dtype.has_value(), row.code);
        BOOST_TEST(bits(*dtype) == row.bits, row.code);
        BOOST_TEST(code(*dtype) == row.code);
    }
}

BOOST_AUTO_TEST_CASE(codes_and_names_are_found_exactly_or_not_at_all) {
    BOOST_TEST((data_type_from_code("BF16") == data_type::bf16));
    BOOST_TEST(!data_type_from_code("bf16").has_value());
    BOOST_TEST(!data_type_from_code("C256").has_value());
    BOOST_TEST(!data_type_from_code("").has_value());
    BOOST_TEST((data_type_from_name("bfloat16") == data_type::bf16));
    BOOST_TEST((data_type_from_name("float8_e4m3fn") == data_type::f8_e4m3));
    BOOST_TEST((data_type_from_name("bool") == data_type::boolean));
    BOOST_TEST(!data_type_from_name("BF16").has_value());
    for (std::size_t i = 0; i < data_type_count; ++i) {
        auto const dtype = static_cast<data_type>(i);
        BOOST_TEST((data_type_from_code(code(dtype)) == dtype));
        BOOST_TEST((data_type_from_name(name(dtype)) == dtype));
    }
}

BOOST_AUTO_TEST_CASE(packed_elements_fill_up_the_last_byte) {
    BOOST_TEST(byte_count(3, data_type::f32) == 12);
    BOOST_TEST(byte_count(3, data_type::f4) == 2);
    BOOST_TEST(byte_count(5, data_type::f6_e2m3) == 4);
    BOOST_TEST(byte_count(0, data_type::f4) == 0);
    BOOST_CHECK_EXCEPTION(byte_count(index_t{1} << 60, data_type::f64), error,
                          [](error const& problem) {
                              return problem.code() == errc::overflow &&
                                     std::string(problem.what()) ==
                                         "1152921504606846976 elements of 64 bits (float64): the "
                                         "number of bits does not fit in 64 bits";
                          });
}

BOOST_AUTO_TEST_CASE(element_types_of_the_language_have_a_data_type) {
    BOOST_TEST((data_type_of<float> == data_type::f32));
    BOOST_TEST((data_type_of<double const> == data_type::f64));
    BOOST_TEST((data_type_of<bool> == data_type::boolean));
    BOOST_TEST((data_type_of<std::uint8_t> == data_type::u8));
    BOOST_TEST((data_type_of<std::int8_t> == data_type::i8));
    BOOST_TEST((data_type_of<std::uint16_t> == data_type::u16));
    BOOST_TEST((data_type_of<std::int16_t> == data_type::i16));
    BOOST_TEST((data_type_of<std::uint32_t> == data_type::u32));
    BOOST_TEST((data_type_of<std::int32_t> == data_type::i32));
    BOOST_TEST((data_type_of<std::uint64_t> == data_type::u64));
    BOOST_TEST((data_type_of<std::int64_t> == data_type::i64));
    BOOST_TEST((data_type_of<float16> == data_type::f16));
    BOOST_TEST((data_type_of<bfloat16> == data_type::bf16));
    BOOST_TEST((data_type_of<std::complex<float>> == data_type::c64));
    BOOST_TEST((data_type_of<std::complex<double>> == data_type::c128));
}

BOOST_AUTO_TEST_CASE(half_precision_elements_are_their_bits) {
    BOOST_TEST((bfloat16{0x3f80} == bfloat16{0x3f80}));
    BOOST_TEST((float16{0x3c00} != float16{0x3c01}));
    BOOST_TEST(sizeof(bfloat16) == 2u);
    BOOST_TEST(sizeof(float16) == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
