// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/conversions.hpp>

#include <reshard/copy/convert.hpp>

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(copy_element_scales)

namespace {

index_t below(std::mt19937& random, index_t bound) {
    return static_cast<index_t>(random()) % bound;
}

} // namespace

// A shard of a matrix that begins at `first` of a tensor, with its axes in memory in either order and
// gaps between them. The scale of element (i, j) is looked up by its index.
BOOST_AUTO_TEST_CASE(each_position_has_the_scale_of_its_block_along_any_loop) {
    std::mt19937 random(3);
    for (int trial = 0; trial < 400; ++trial) {
        index_t const extent[2] = {below(random, 9) + 1, below(random, 9) + 1};
        index_t const first[2] = {below(random, 7), below(random, 7)};
        index_t const block[2] = {below(random, 5), below(random, 5)};
        index_t const columns = 20;
        bool const is_turned = below(random, 2) == 1;
        index_t const inner = below(random, 3) + 1, offset = below(random, 4);
        index_t const outer = inner * extent[is_turned ? 0 : 1] + below(random, 3);
        index_t const stride[2] = {is_turned ? inner : outer, is_turned ? outer : inner};

        std::vector<float> values(400);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(i);
        element_scales scales;
        for (std::size_t const axis : {is_turned ? 1u : 0u, is_turned ? 0u : 1u})
            if (extent[axis] > 1)
                scales.memory.push_back({stride[axis], extent[axis], axis, 1});
        scales.axes.push_back({first[0], block[0], columns});
        scales.axes.push_back({first[1], block[1], 1});
        scales.offset = -offset;
        scales.values = values.data();
        auto const wanted = [&](index_t i, index_t j) {
            index_t const row = block[0] == 0 ? 0 : (first[0] + i) / block[0];
            index_t const column = block[1] == 0 ? 0 : (first[1] + j) / block[1];
            return static_cast<float>(row * columns + column);
        };
        auto const position = [&](index_t i, index_t j) {
            return offset + i * stride[0] + j * stride[1];
        };
        std::vector<float> found(9);
        for (index_t i = 0; i < extent[0]; ++i)
            for (int const direction : {1, -1, 2}) {
                index_t const begin = direction < 0 ? extent[1] - 1 : 0;
                index_t const count = direction == 2 ? (extent[1] + 1) / 2 : extent[1];
                scales.fill(position(i, begin), direction * stride[1], count, found.data());
                for (index_t k = 0; k < count; ++k)
                    BOOST_TEST(found[static_cast<std::size_t>(k)] ==
                               wanted(i, begin + k * direction));
            }
        for (index_t j = 0; j < extent[1]; ++j) {
            scales.fill(position(0, j), stride[0], extent[0], found.data());
            for (index_t k = 0; k < extent[0]; ++k)
                BOOST_TEST(found[static_cast<std::size_t>(k)] == wanted(k, j));
        }
        scales.fill(position(0, 0), 0, 3, found.data()); // an element that is repeated
        for (std::size_t k = 0; k < 3; ++k)
            BOOST_TEST(found[k] == wanted(0, 0));
    }
}

// Rows without gaps are one run of memory, so a loop goes from row to row.
BOOST_AUTO_TEST_CASE(a_run_over_several_rows_changes_its_scales_with_the_row) {
    std::vector<float> const values{1, 2, 3, 4};
    element_scales scales;
    scales.memory = {{5, 4, 0, 1}, {1, 5, 1, 1}};
    scales.axes = {{0, 2, 2}, {0, 3, 1}};
    scales.values = values.data();
    std::vector<float> found(17);
    scales.fill(3, 1, 17, found.data());
    std::vector<float> const wanted{2, 2, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 3, 3, 3, 4, 4};
    BOOST_TEST(found == wanted, boost::test_tools::per_element());
}

// The longest chain has most passes; each element is compared with conversions one by one.
BOOST_AUTO_TEST_CASE(the_longest_chain_of_casts_after_a_product_is_converted) {
    using enum data_type;
    step_chain chain = appended({}, i8, {f16, chain_step::operation::dequantize});
    for (int i = 0; i < 14; ++i)
        chain = appended(chain, i8, {i % 2 == 0 ? f8_e4m3 : f8_e5m2});
    std::vector<unsigned char> source(256), target(256);
    std::vector<float> scales(256 + 64);
    for (std::size_t i = 0; i < 256; ++i) {
        source[i] = static_cast<unsigned char>(i);
        scales[i] = .25F * static_cast<float>(i % 7);
    }
    conversion const convert_all(i8, chain);
    convert_all(source.data(), target.data(), 256, scales.data());
    for (std::size_t i = 0; i < 256; ++i) {
        float const product = static_cast<float>(static_cast<signed char>(source[i])) * scales[i];
        std::uint64_t element = convert(f32, f16, std::bit_cast<std::uint32_t>(product));
        data_type dtype = f16;
        for (int k = 0; k < 14; ++k) {
            data_type const next = k % 2 == 0 ? f8_e4m3 : f8_e5m2;
            element = convert(dtype, next, element);
            dtype = next;
        }
        BOOST_TEST(target[i] == element, i);
    }
}

// Products in registers and block by block; every pattern of a byte, and scales of every kind.
BOOST_AUTO_TEST_CASE(every_float_of_a_byte_is_multiplied_as_one_by_one) {
    using enum data_type;
    float const factors[] = {1,
                             -1.5F,
                             0,
                             -0.F,
                             .37F,
                             3e38F,
                             -3e38F,
                             1e-38F,
                             1e-42F,
                             7e-41F,
                             2.5e37F,
                             448,
                             1e10F,
                             -1e-10F,
                             std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN()};
    for (data_type const from : {f8_e4m3, f8_e5m2, f8_e4m3fnuz, f8_e5m2fnuz, i8})
        for (data_type const to : {bf16, f32, f16}) {
            conversion const scaled(from,
                                    appended({}, from, {to, chain_step::operation::dequantize}));
            for (float const factor : factors) {
                std::vector<unsigned char> source(256), target(1024);
                std::vector<float> const scales(256 + 64, factor);
                for (std::size_t i = 0; i < 256; ++i)
                    source[i] = static_cast<unsigned char>(i);
                scaled(source.data(), target.data(), 256, scales.data());
                for (std::size_t i = 0; i < 256; ++i) {
                    auto const value = std::bit_cast<float>(
                        static_cast<std::uint32_t>(convert(from, f32, source[i])));
                    std::uint64_t const wanted =
                        convert(f32, to, std::bit_cast<std::uint32_t>(value * factor));
                    std::uint64_t element = 0;
                    auto const size = static_cast<std::size_t>(bits(to)) / 8;
                    std::memcpy(&element, target.data() + i * size, size);
                    bool const is_nan = std::isnan(value * factor);
                    BOOST_TEST((is_nan ? std::isnan(std::bit_cast<float>(
                                             static_cast<std::uint32_t>(convert(to, f32, element))))
                                       : element == wanted),
                               name(from) << " " << i << " times " << factor << " as " << name(to));
                }
            }
        }
}

BOOST_AUTO_TEST_SUITE_END()
