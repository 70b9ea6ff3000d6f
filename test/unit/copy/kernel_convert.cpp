// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/kernel_convert.hpp>

#include "vector_support.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace reshard;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(kernels_that_convert)

namespace {

/// A conversion that these kernels know nothing of: bytes to twice as wide ones, each plus one.
struct add_one {
    static constexpr index_t block_elements = 16;
    static constexpr std::size_t block_bytes = 32;

    detail::vector_conversion in_registers() const { return {}; }

    void operator()(unsigned char const* source, unsigned char* target, index_t count) const {
        for (index_t i = 0; i < count; ++i) {
            target[2 * i] = static_cast<unsigned char>(source[i] + 1);
            target[2 * i + 1] = 0;
        }
    }
};

std::vector<unsigned char> ramp(std::size_t count) {
    std::vector<unsigned char> bytes(count);
    for (std::size_t i = 0; i < count; ++i)
        bytes[i] = static_cast<unsigned char>(i % 251);
    return bytes;
}

unsigned char* bytes_of(std::vector<std::uint16_t>& elements) {
    return reinterpret_cast<unsigned char*>(elements.data());
}

} // namespace

BOOST_AUTO_TEST_CASE(runs_are_converted_in_blocks_of_the_conversions_size) {
    auto const source = ramp(100);
    for (bool const streaming : {false, true})
        for (index_t const count : {0, 1, 15, 16, 17, 100}) {
            std::vector<std::uint16_t> target(102, 9999);
            detail::convert_run(add_one(), {1, 2}, {source.data(), bytes_of(target) + 2, streaming},
                                count);
            BOOST_TEST(target[0] == 9999);
            for (index_t i = 0; i < count; ++i)
                BOOST_TEST(target[static_cast<std::size_t>(i + 1)] == i + 1);
            BOOST_TEST(target[static_cast<std::size_t>(count + 1)] == 9999);
        }
}

BOOST_AUTO_TEST_CASE(rows_transposes_and_strides_agree) {
    auto const source = ramp(40 * 30);
    for (bool const streaming : {false, true}) {
        std::vector<std::uint16_t> rows(1200), transposed(1200), strided(1200);
        detail::convert_rows({{40, 30}, 0, {30, 1}, 0, {60, 2}}, add_one(), {1, 2},
                             {source.data(), bytes_of(rows), streaming});
        detail::convert_transposed({{30, 40}, 0, {1, 30}, 0, {80, 2}}, add_one(), {1, 2},
                                   {source.data(), bytes_of(transposed), streaming});
        detail::convert_strided({{30, 40}, 0, {8, 240}, 0, {640, 16}}, add_one(), {8, 16},
                                {source.data(), bytes_of(strided), streaming});
        bool is_right = true;
        for (std::size_t i = 0; i < 40; ++i)
            for (std::size_t j = 0; j < 30; ++j) {
                auto const wanted = static_cast<std::uint16_t>((i * 30 + j) % 251 + 1);
                is_right = is_right && rows[i * 30 + j] == wanted &&
                           transposed[j * 40 + i] == wanted && strided[j * 40 + i] == wanted;
            }
        BOOST_TEST(is_right);
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(vector_conversions)

BOOST_AUTO_TEST_CASE(the_largest_registers_are_chosen_and_those_asked_for_are_taken) {
    using detail::vector_set;
    auto const rows = [](auto... set) {
        return detail::vector_conversion_of(data_type::f32, data_type::bf16, set...);
    };
    vector_set const largest = detail::widest_vectors();
    BOOST_TEST((rows() == rows(largest)));
    BOOST_TEST(!rows(vector_set::none));
    BOOST_TEST(detail::has(largest));
    for (vector_set const set : all_vectors) {
        BOOST_TEST(static_cast<bool>(rows(set)) == detail::has(set));
        BOOST_TEST((detail::has(set) && set > largest) == false);
    }
    if (can_test(vector_set::avx2) && can_test(vector_set::avx512))
        BOOST_TEST((rows(vector_set::avx2) != rows(vector_set::avx512)));
}

BOOST_AUTO_TEST_CASE(each_cast_of_the_table_is_in_all_registers) {
    for (detail::vector_set const set : all_vectors)
        if (can_test(set))
            for (pair_of_types const& cast : casts()) {
                detail::vector_conversion const conversion = cast.vectors(set);
                BOOST_TEST((conversion && conversion.block()), cast.text()
                                                                   << " with " << text(set));
            }
}

BOOST_AUTO_TEST_CASE(what_would_round_twice_has_no_vectors) {
    BOOST_TEST(!detail::vector_conversion_of(data_type::f64, data_type::bf16));
    BOOST_TEST(!detail::vector_conversion_of(data_type::f64, data_type::f16));
    BOOST_TEST(!detail::vector_conversion_of(data_type::i32, data_type::f32));
    BOOST_TEST(!detail::vector_conversion_of(data_type::f32, data_type::f8_e4m3));
}

BOOST_AUTO_TEST_SUITE_END()
