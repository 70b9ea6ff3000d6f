// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/conversions.hpp>
#include <reshard/copy/copy_elements.hpp>

#include "support.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <complex>

#include <numeric>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(copying_elements)

namespace {

data_type dtype_number(std::size_t i) { return static_cast<data_type>(i); }

element_conversion cast(data_type source, data_type target) {
    return casting(source, then({}, source, target));
}

/// The same of complex numbers: their parts are separate numbers.
std::vector<unsigned char> expected_parts(affine_copy const& copy,
                                          element_conversion const& conversion,
                                          std::vector<unsigned char> const& source,
                                          std::vector<unsigned char> target) {
    int const source_bits = bits(conversion.source) / 2;
    int const target_bits = bits(conversion.target()) / 2;
    for (auto const& [from, to] : test::places(copy))
        for (index_t part = 0; part < 2; ++part) {
            std::uint64_t element =
                test::get_bits(source, (2 * from + part) * source_bits, source_bits);
            data_type dtype = part_of(conversion.source);
            for (chain_step const& next : conversion.chain.steps()) {
                element = convert(dtype, part_of(next.dtype), element);
                dtype = part_of(next.dtype);
            }
            test::set_bits(target, (2 * to + part) * target_bits, target_bits, element);
        }
    return target;
}

/// A step of one element, with the processor's arithmetic and the exact casts.
std::uint64_t computed(chain_step const& step, data_type source, std::uint64_t element) {
    if (step.computes == chain_step::operation::none)
        return convert(source, step.dtype, element);
    bool const is_sum = step.computes == chain_step::operation::add;
    data_type const type = computing_type(source, step.dtype);
    element = convert(source, type, element);
    if (type == data_type::f64) {
        double const x = std::bit_cast<double>(element);
        element = std::bit_cast<std::uint64_t>(is_sum ? x + step.operand : x * step.operand);
    } else {
        float const x = std::bit_cast<float>(static_cast<std::uint32_t>(element));
        auto const operand = static_cast<float>(step.operand);
        element = std::bit_cast<std::uint32_t>(is_sum ? x + operand : x * operand);
    }
    return convert(type, step.dtype, element);
}

/// Element after element, bit after bit, step after step.
std::vector<unsigned char> expected(affine_copy const& copy, element_conversion const& conversion,
                                    std::vector<unsigned char> const& source,
                                    std::vector<unsigned char> target) {
    int const source_bits = bits(conversion.source);
    int const target_bits = bits(conversion.target());
    if (is_complex(conversion.source))
        return expected_parts(copy, conversion, source, std::move(target));
    for (auto const& [from, to] : test::places(copy)) {
        std::uint64_t element = test::get_bits(source, from * source_bits, source_bits);
        data_type dtype = conversion.source;
        for (chain_step const& next : conversion.chain.steps()) {
            element = computed(next, dtype, element);
            dtype = next.dtype;
        }
        test::set_bits(target, to * target_bits, target_bits, element);
    }
    return target;
}

std::size_t bytes_for(index_t elements, int bits) {
    return static_cast<std::size_t>((elements * bits + 7) / 8);
}

/// Runs a copy between buffers of random bytes, as long as need be and `shift` bytes off any alignment.
bool copies_right(std::mt19937& random, affine_copy const& copy,
                  element_conversion const& conversion, stores stores = stores::by_size) {
    auto const places = test::places(copy);
    auto const shift = static_cast<std::size_t>(test::draw(random, 0, 9));
    auto const source =
        test::random_bytes(random, bytes_for(test::span_of(places, true), bits(conversion.source)));
    auto const before = test::random_bytes(
        random, bytes_for(test::span_of(places, false), bits(conversion.target())));
    std::vector<unsigned char> shifted(shift, 0xab);
    shifted.insert(shifted.end(), before.begin(), before.end());
    shifted.insert(shifted.end(), 64, 0xcd);
    std::vector<unsigned char> shifted_source(shift, 0);
    shifted_source.insert(shifted_source.end(), source.begin(), source.end());
    run(prepare(copy, conversion, stores), shifted_source.data() + shift, shifted.data() + shift);
    auto const wanted = expected(copy, conversion, source, before);
    auto const begin = shifted.begin() + static_cast<std::ptrdiff_t>(shift);
    return std::equal(wanted.begin(), wanted.end(), begin) &&
           std::count(shifted.begin(), begin, 0xab) == static_cast<std::ptrdiff_t>(shift) &&
           std::count(shifted.end() - 64, shifted.end(), 0xcd) == 64;
}

affine_copy transposing(index_t rows, index_t columns) {
    return {{rows, columns}, 0, {columns, 1}, 0, {1, rows}};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_block_moves_to_its_place) {
    std::vector<std::int32_t> source(20);
    std::iota(source.begin(), source.end(), 0);
    std::vector<std::int32_t> target(6, -1);
    // rows 1 and 2, columns 2 to 4 of a 4 x 5 array
    copy_elements({{2, 3}, 7, {5, 1}, 0, {3, 1}}, {data_type::i32}, source.data(), target.data());
    BOOST_TEST((target == std::vector<std::int32_t>{7, 8, 9, 12, 13, 14}));
}

BOOST_AUTO_TEST_CASE(a_matrix_is_transposed) {
    std::vector<double> const source{1, 2, 3, 4, 5, 6};
    std::vector<double> target(6);
    copy_elements(transposing(2, 3), {data_type::f64}, source.data(), target.data());
    BOOST_TEST((target == std::vector<double>{1, 4, 2, 5, 3, 6}));
}

BOOST_AUTO_TEST_CASE(a_scalar_is_one_element_and_a_zero_extent_none) {
    float const source = 2.5f;
    float target = 0;
    copy_elements({{0, 3}, 0, {3, 1}, 0, {3, 1}}, {data_type::f32}, &source, &target);
    BOOST_TEST(target == 0);
    copy_elements({}, {data_type::f32}, &source, &target);
    BOOST_TEST(target == 2.5f);
    copy_elements({{0}, 0, {1}, 0, {1}}, {data_type::f32}, nullptr, nullptr);
}

BOOST_AUTO_TEST_CASE(casts_round_on_the_way) {
    // 1 + 2^-8 is a tie between the bf16 numbers 1 and 1 + 2^-7: to the even one
    std::vector<float> const source{1.00390625f, 1.01171875f, -3.0f};
    std::vector<std::uint16_t> target(3);
    copy_elements({{3}, 0, {1}, 0, {1}}, cast(data_type::f32, data_type::bf16), source.data(),
                  target.data());
    BOOST_TEST((target == std::vector<std::uint16_t>{0x3f80, 0x3f82, 0xc040}));
}

BOOST_AUTO_TEST_CASE(a_chain_rounds_at_every_step) {
    element_conversion const there_and_back =
        casting(data_type::f32,
                then(then({}, data_type::f32, data_type::bf16), data_type::f32, data_type::f32));
    std::vector<float> const source{1.001f, 3.14159f};
    std::vector<float> target(2);
    copy_elements({{2}, 0, {1}, 0, {1}}, there_and_back, source.data(), target.data());
    BOOST_TEST((target == std::vector<float>{1.0f, 3.140625f}));
}

BOOST_AUTO_TEST_CASE(half_bytes_leave_their_neighbours_alone) {
    std::vector<unsigned char> const source{0x21, 0x43, 0x65};
    std::vector<unsigned char> target{0xff, 0xff, 0xff};
    copy_elements({{3}, 1, {1}, 2, {1}}, {data_type::f4}, source.data(), target.data());
    BOOST_TEST((target == std::vector<unsigned char>{0xff, 0x32, 0xf4}));
}

BOOST_AUTO_TEST_CASE(complex_numbers_do_not_become_real_ones) {
    std::vector<std::complex<float>> source{{1, 2}};
    float target = 0;
    auto const is_dtype_mismatch = [](error const& problem) {
        return problem.code() == errc::dtype_mismatch &&
               std::string(problem.what()).find("complex64") != std::string::npos;
    };
    BOOST_CHECK_EXCEPTION(copy_elements({{1}, 0, {1}, 0, {1}}, cast(data_type::c64, data_type::f32),
                                        source.data(), &target),
                          error, is_dtype_mismatch);
    BOOST_CHECK_EXCEPTION(copy_elements({{0}, 0, {1}, 0, {1}}, cast(data_type::c64, data_type::f32),
                                        source.data(), &target),
                          error, is_dtype_mismatch);
    std::complex<double> widened;
    BOOST_CHECK_EXCEPTION(
        copy_elements({{1}, 0, {1}, 0, {1}}, cast(data_type::f32, data_type::c128), &target,
                      &widened),
        error, [](error const& problem) {
            return problem.what() ==
                   std::string("elements of type float32 cannot be cast to "
                               "complex128: only complex numbers can be cast to complex numbers");
        });
}

BOOST_AUTO_TEST_CASE(complex_numbers_are_cast_part_by_part) {
    // 0.1 is not a float: both parts are rounded, and stay apart.
    std::vector<std::complex<double>> const source{{0.1, -2}, {3, 1e300}};
    std::vector<std::complex<float>> target(2);
    copy_elements({{2}, 0, {1}, 1, {-1}}, cast(data_type::c128, data_type::c64), source.data(),
                  target.data());
    BOOST_TEST((target == std::vector<std::complex<float>>{{3, INFINITY}, {0.1f, -2}}));
    affine_copy const spread{{2, 2, 2, 2, 2, 2, 2, 2},
                             0,
                             {9, 7, 5, 3, 11, 13, 1, 17},
                             0,
                             {1, 300, 3, 1000, 7, 90, 27, 5000}};
    BOOST_CHECK_EXCEPTION(
        prepare(spread, cast(data_type::c64, data_type::c128)), error,
        [](error const& problem) { return problem.code() == errc::limit_exceeded; });
}

BOOST_AUTO_TEST_CASE(every_type_is_copied_as_the_loops_say) {
    std::mt19937 random(11);
    for (std::size_t i = 0; i < data_type_count; ++i)
        for (int round = 0; round < 60; ++round) {
            auto const options = static_cast<stores>(test::draw(random, 0, 2));
            BOOST_TEST_REQUIRE(
                copies_right(random, test::random_copy(random, 5, 5), {dtype_number(i)}, options),
                name(dtype_number(i)) << " in round " << round);
        }
}

BOOST_AUTO_TEST_CASE(every_pair_of_types_is_cast_as_the_loops_say) {
    std::mt19937 random(12);
    for (std::size_t i = 0; i < data_type_count; ++i)
        for (std::size_t k = 0; k < data_type_count; ++k) {
            if (!is_castable(dtype_number(i), dtype_number(k)))
                continue;
            auto const options = static_cast<stores>(test::draw(random, 0, 2));
            auto const conversion = cast(dtype_number(i), dtype_number(k));
            for (int round = 0; round < 6; ++round)
                BOOST_TEST_REQUIRE(
                    copies_right(random, test::random_copy(random, 4, 5), conversion, options),
                    name(dtype_number(i)) << " to " << name(dtype_number(k)));
        }
}

BOOST_AUTO_TEST_CASE(random_chains_are_run_step_by_step) {
    std::mt19937 random(13);
    for (int round = 0; round < 200; ++round) {
        data_type const source = dtype_number(static_cast<std::size_t>(test::draw(random, 0, 17)));
        element_conversion conversion = casting(source, {});
        for (index_t steps = test::draw(random, 2, 6); steps > 0; --steps)
            conversion.chain =
                then(conversion.chain, source,
                     dtype_number(static_cast<std::size_t>(test::draw(random, 0, 17))));
        BOOST_TEST_REQUIRE(
            copies_right(random, test::random_copy(random, 3, 20), conversion, stores::streaming));
    }
}

BOOST_AUTO_TEST_CASE(sums_and_products_are_rounded_once) {
    // 1 + 2^-7 is the next bf16 after 1; 1 + 2^-8 is a tie, and 1 + 2^-8 + 2^-9 is not.
    auto const converts = [](chain_step::operation operation, double operand) {
        return casting(data_type::bf16,
                       then({}, data_type::bf16, {data_type::bf16, operation, operand}));
    };
    auto const bits = [](float value) {
        return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
    };
    std::vector<std::uint16_t> const source{bits(0x1p-8f), bits(0x1.8p-8f), bits(-1), bits(3),
                                            bits(-0.f)};
    std::vector<std::uint16_t> target(5);
    copy_elements({{5}, 0, {1}, 0, {1}}, converts(chain_step::operation::add, 1), source.data(),
                  target.data());
    BOOST_TEST(
        (target == std::vector<std::uint16_t>{bits(1), bits(1 + 0x1p-7f), 0, bits(4), bits(1)}));
    copy_elements({{5}, 0, {1}, 0, {1}}, converts(chain_step::operation::multiply, -.5),
                  source.data(), target.data());
    BOOST_TEST((target == std::vector<std::uint16_t>{bits(-0x1p-9f), bits(-0x1.8p-9f), bits(.5f),
                                                     bits(-1.5f), 0}));
}

BOOST_AUTO_TEST_CASE(every_pair_of_floats_is_computed_as_the_loops_say) {
    std::mt19937 random(11);
    for (std::size_t from = 0; from < data_type_count; ++from)
        for (std::size_t to = 0; to < data_type_count; ++to) {
            auto const source = static_cast<data_type>(from), target = static_cast<data_type>(to);
            if (!is_floating(source) || !is_floating(target))
                continue;
            for (auto const& step : {chain_step{target, chain_step::operation::add, 1},
                                     chain_step{target, chain_step::operation::multiply, .7}}) {
                auto const conversion = casting(source, then({}, source, step));
                for (affine_copy const& copy :
                     {transposing(7, 33), affine_copy{{1041}, 3, {1}, 0, {1}},
                      affine_copy{{5, 130}, 0, {140, 1}, 0, {130, 1}}})
                    BOOST_TEST(copies_right(random, copy, conversion),
                               name(source) << " to " << name(target));
            }
        }
}

BOOST_AUTO_TEST_CASE(large_transposes_cross_every_edge_of_a_tile) {
    std::mt19937 random(14);
    for (stores const stores : {stores::cached, stores::streaming}) {
        BOOST_TEST(copies_right(random, transposing(131, 277), {data_type::c128}, stores));
        BOOST_TEST(copies_right(random, transposing(64, 192), {data_type::c128}, stores));
        BOOST_TEST(copies_right(random, transposing(131, 77), cast(data_type::c128, data_type::c64),
                                stores));
    }
    for (data_type const dtype : {data_type::u8, data_type::bf16, data_type::f32, data_type::f64})
        for (stores const stores : {stores::cached, stores::streaming}) {
            BOOST_TEST(copies_right(random, transposing(131, 277), {dtype}, stores));
            BOOST_TEST(copies_right(random, transposing(320, 192), {dtype}, stores));
            BOOST_TEST(copies_right(random, transposing(3, 1100), {dtype}, stores));
            BOOST_TEST(copies_right(random, transposing(2100, 5), {dtype}, stores));
            BOOST_TEST(
                copies_right(random, transposing(128, 192), cast(dtype, data_type::f16), stores));
            BOOST_TEST(
                copies_right(random, transposing(129, 67), cast(dtype, data_type::f64), stores));
        }
}

BOOST_AUTO_TEST_CASE(widening_casts_turn_squares_of_two_lines_side_by_side) {
    using enum data_type;
    std::mt19937 random(16);
    for (auto const& [source, target] :
         {std::pair(bf16, f32), {f32, f64}, {f8_e4m3, bf16}, {f8_e4m3, f32}, {f16, f32}})
        for (stores const stores : {stores::cached, stores::streaming})
            for (auto const& [rows, columns] : {std::pair(128, 192), {64, 320}, {130, 64}})
                BOOST_TEST(
                    copies_right(random, transposing(rows, columns), cast(source, target), stores));
}

BOOST_AUTO_TEST_CASE(aligned_targets_are_streamed_line_by_line) {
    std::mt19937 random(15);
    for (int const offset : {0, 8, 24, 63}) {
        auto const source = test::random_bytes(random, 256 * 128 * 8);
        std::vector<unsigned char> target(256 * 128 * 8 + 128);
        auto const address = reinterpret_cast<std::uintptr_t>(target.data());
        unsigned char* const place =
            target.data() + (64 - address % 64) % 64 + static_cast<std::size_t>(offset);
        run(prepare(transposing(256, 128), {data_type::f64}, stores::streaming), source.data(),
            place);
        auto const wanted = expected(transposing(256, 128), {data_type::f64}, source,
                                     std::vector<unsigned char>(256 * 128 * 8));
        BOOST_TEST(std::equal(wanted.begin(), wanted.end(), place));
    }
}

BOOST_AUTO_TEST_CASE(rows_of_every_length_are_copied) {
    std::mt19937 random(16);
    for (index_t const run_length :
         {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 63, 64, 65, 128, 1024, 1030})
        for (stores const stores : {stores::cached, stores::streaming}) {
            affine_copy const rows{{7, 5, run_length},
                                   0,
                                   {run_length, 7 * run_length, 1},
                                   0,
                                   {5 * run_length + 64, run_length, 1}};
            BOOST_TEST(copies_right(random, rows, {data_type::u8}, stores));
            BOOST_TEST(copies_right(random, rows, {data_type::bf16}, stores));
            BOOST_TEST(copies_right(random, rows, cast(data_type::bf16, data_type::f32), stores));
        }
}

BOOST_AUTO_TEST_CASE(long_runs_are_converted_in_blocks) {
    std::mt19937 random(17);
    for (index_t const count : {511, 512, 513, 1500, 4096})
        for (stores const stores : {stores::cached, stores::streaming}) {
            affine_copy const run_of{{count}, 1, {1}, 3, {1}};
            BOOST_TEST(copies_right(random, run_of, cast(data_type::f32, data_type::bf16), stores));
            BOOST_TEST(copies_right(random, run_of, cast(data_type::i64, data_type::i32), stores));
            BOOST_TEST(
                copies_right(random, run_of, cast(data_type::f4, data_type::f6_e2m3), stores));
        }
}

BOOST_AUTO_TEST_CASE(short_rows_are_taken_for_wider_elements) {
    affine_copy const pairs{{300, 200, 2}, 4, {400, 2, 1}, 6, {2, 600, 1}};
    BOOST_TEST((prepare(pairs, {data_type::bf16}).kernel == copy_kernel::transposed));
    BOOST_TEST(prepare(pairs, {data_type::bf16}).sizes.target == 4);
    std::mt19937 random(18);
    BOOST_TEST(copies_right(random, pairs, {data_type::bf16}));
    affine_copy odd_offset = pairs;
    odd_offset.source_offset = 5;
    BOOST_TEST((prepare(odd_offset, {data_type::bf16}).kernel == copy_kernel::rows));
    BOOST_TEST(copies_right(random, odd_offset, {data_type::bf16}));
    BOOST_TEST((prepare(pairs, {data_type::f64}).kernel == copy_kernel::rows));
    affine_copy const odd_pitch{{300, 200, 2}, 0, {401, 2, 1}, 0, {2, 600, 1}};
    BOOST_TEST((prepare(odd_pitch, {data_type::bf16}).kernel == copy_kernel::rows));
    BOOST_TEST(copies_right(random, odd_pitch, {data_type::bf16}));
}

BOOST_AUTO_TEST_CASE(a_prepared_copy_runs_again_elsewhere) {
    auto const ready = prepare(transposing(2, 2), {data_type::u8});
    std::vector<unsigned char> const first{1, 2, 3, 4};
    std::vector<unsigned char> const second{5, 6, 7, 8};
    std::vector<unsigned char> target(4);
    run(ready, first.data(), target.data());
    BOOST_TEST((target == std::vector<unsigned char>{1, 3, 2, 4}));
    run(ready, second.data(), target.data());
    BOOST_TEST((target == std::vector<unsigned char>{5, 7, 6, 8}));
}

BOOST_AUTO_TEST_CASE(large_results_pass_by_the_caches_unless_told_otherwise) {
    affine_copy const small{{1000}, 0, {1}, 0, {1}};
    affine_copy const large{{streaming_threshold / 4}, 0, {1}, 0, {1}};
    BOOST_TEST(!prepare(small, {data_type::f32}).streaming);
    BOOST_TEST(prepare(small, {data_type::f32}, stores::streaming).streaming);
    BOOST_TEST(prepare(large, {data_type::f32}).streaming);
    BOOST_TEST(!prepare(large, {data_type::f32}, stores::cached).streaming);
    BOOST_TEST(!prepare(large, cast(data_type::f32, data_type::bf16)).streaming);
}

BOOST_AUTO_TEST_SUITE_END()
