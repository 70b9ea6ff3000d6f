// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/fast_convert.hpp>

#include <reshard/copy/convert.hpp>

#include "support.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(fast_conversions)

namespace {

/// Runs a loop over random elements at an odd address and compares with the exact conversion.
void check_loop(detail::block_function loop, data_type source, data_type target, index_t count) {
    auto const source_bits = std::max(bits(source), 8);
    auto const target_bits = std::max(bits(target), 8);
    std::mt19937 random(static_cast<unsigned>(count));
    auto elements =
        test::random_bytes(random, static_cast<std::size_t>(count * source_bits / 8 + 1));
    if (bits(source) < 8)
        for (unsigned char& element : elements)
            element = static_cast<unsigned char>(element & ((1u << bits(source)) - 1));
    std::vector<unsigned char> result(static_cast<std::size_t>(count * target_bits / 8 + 2), 0xee);
    loop(detail::find_byte_float(source), elements.data() + 1, result.data() + 1, count);
    BOOST_TEST(result.front() == 0xee);
    BOOST_TEST(result.back() == 0xee);
    for (index_t i = 0; i < count; ++i) {
        auto const element = test::get_bits(elements, 8 + i * source_bits, source_bits);
        BOOST_TEST_REQUIRE(test::get_bits(result, 8 + i * target_bits, target_bits) ==
                               convert(source, target, element),
                           name(source) << " to " << name(target));
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(every_loop_agrees_with_exact_conversion_at_every_length) {
    for (std::size_t i = 0; i < data_type_count; ++i)
        for (index_t const count : {0, 1, 63, 64, 65, 1000}) {
            auto const dtype = static_cast<data_type>(i);
            if (auto const loop = detail::to_f32(dtype))
                check_loop(loop, dtype, data_type::f32, count);
            if (auto const loop = detail::from_f32(dtype))
                check_loop(loop, data_type::f32, dtype, count);
            if (auto const loop = detail::to_bf16(dtype))
                check_loop(loop, dtype, data_type::bf16, count);
        }
}

BOOST_AUTO_TEST_CASE(processors_without_wide_vectors_get_the_same_result) {
    for (index_t const count : {3, 64, 200}) {
        check_loop(
            detail::convert_portably<std::uint32_t, std::uint16_t, detail::narrow<format_bf16>>,
            data_type::f32, data_type::bf16, count);
        check_loop(
            detail::convert_portably<std::uint16_t, std::uint32_t, detail::widen<format_f16>>,
            data_type::f16, data_type::f32, count);
        check_loop(detail::look_up<std::uint16_t, 0>, data_type::f8_e4m3, data_type::bf16, count);
        check_loop(detail::convert_portably<std::uint64_t, std::uint32_t, detail::f32_of_f64>,
                   data_type::f64, data_type::f32, count);
    }
}

BOOST_AUTO_TEST_CASE(the_usual_pairs_have_a_loop) {
    BOOST_TEST((detail::fast_step(data_type::f32, data_type::bf16) != nullptr));
    BOOST_TEST((detail::fast_step(data_type::f16, data_type::f32) != nullptr));
    BOOST_TEST((detail::fast_step(data_type::f32, data_type::f64) != nullptr));
    BOOST_TEST((detail::fast_step(data_type::f8_e4m3, data_type::bf16) != nullptr));
    BOOST_TEST((detail::fast_step(data_type::f16, data_type::bf16) == nullptr)); // rounds
    BOOST_TEST((detail::fast_step(data_type::f64, data_type::f16) == nullptr)); // would round twice
    BOOST_TEST((detail::fast_step(data_type::i32, data_type::f32) == nullptr));
}

BOOST_AUTO_TEST_CASE(signalling_nans_pass_between_f32_and_f64) {
    BOOST_TEST(detail::f64_of_f32(0xff800001) == 0xfff0000020000000u);
    BOOST_TEST(detail::f32_of_f64(0xfff0000020000000) == 0xff800001u);
    BOOST_TEST(detail::f32_of_f64(0x7ff0000000000001) == 0x7fc00000u);
    BOOST_TEST(detail::f32_of_f64(0x7ff0000000000000) == 0x7f800000u);
}

BOOST_AUTO_TEST_SUITE_END()
