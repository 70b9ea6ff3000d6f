// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/vectors.hpp>

#include "support.hpp"
#include "vector_support.hpp"

#include <bit>
#include <cstring>
#include <numeric>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

namespace {

/// Rows of every length at every place are written, and nothing else.
void check_rows(vector_set set) {
    std::mt19937 random(7);
    for (pair_of_types const& cast : casts()) {
        auto const vectors = cast.vectors(set);
        index_t const size = cast.target_size();
        std::vector<unsigned char> const source = random_bytes(random, 300 * 8);
        index_t wrong = 0;
        for (index_t skew = 0; skew < 64; ++skew) {
            unsigned char const* const from = source.data() + skew % 32;
            std::vector<unsigned char> const all = expected(cast, from, 200);
            for (bool const streaming : {false, true})
                for (index_t count = 0; count <= 200; ++count) {
                    std::vector<unsigned char> memory(static_cast<std::size_t>(200 * size + 256),
                                                      0xee);
                    std::vector<unsigned char> wanted = memory;
                    unsigned char* const to = skewed(memory, skew + 1);
                    vectors.row(from, to, count, streaming);
                    streaming_fence();
                    std::copy_n(all.begin(), count * size, wanted.begin() + (to - memory.data()));
                    wrong += memory != wanted;
                }
        }
        BOOST_TEST(wrong == 0, cast.text() << " with " << text(set));
    }
}

/// Rows so long that several parts of them are converted in step are written whole.
void check_long_rows(vector_set set) {
    std::mt19937 random(9);
    for (pair_of_types const& cast : casts())
        for (index_t const count : {16'384, 16'500, 40'001}) {
            std::vector<unsigned char> const source =
                random_bytes(random, static_cast<std::size_t>(count * cast.source_size()));
            std::vector<unsigned char> const all = expected(cast, source.data(), count);
            std::vector<unsigned char> memory(all.size() + 256, 0xee);
            unsigned char* const to = skewed(memory, 64 - cast.target_size()); // a head of one
            cast.vectors(set).row(source.data(), to, count, true);
            streaming_fence();
            BOOST_TEST(std::equal(all.begin(), all.end(), to),
                       count << " times " << cast.text() << " with " << text(set));
            BOOST_TEST((to[-1] == 0xee && to[all.size()] == 0xee));
        }
}

/// Squares are turned and converted, and nothing else is written.
void check_squares(vector_set set) {
    std::mt19937 random(8);
    for (pair_of_types const& cast : casts())
        for (bool const streaming : {false, true})
            for (bool const has_nan : {false, true}) {
                auto const vectors = cast.vectors(set);
                index_t const lines = square_side(cast.source_size());
                index_t const width = square_width(cast.source_size(), cast.target_size());
                index_t const pitch = 64 + 24, target_pitch = width * cast.target_size() + 64;
                std::vector<unsigned char> source =
                    random_bytes(random, static_cast<std::size_t>(width * pitch + 1));
                auto const at = [&](index_t i, index_t j) {
                    return source.data() + 1 + j * pitch + i * cast.source_size();
                };
                for (index_t i = 0; i < lines; ++i) // numbers near one, or one NaN among them
                    for (index_t j = 0; j < width; ++j) {
                        std::uint64_t const index =
                            convert(data_type::f32, cast.source, 0x3f800000 + random() % 0x800000);
                        std::memcpy(at(i, j), &index, static_cast<std::size_t>(cast.source_size()));
                    }
                if (has_nan)
                    std::memset(at(lines - 1, 3), 0x7f,
                                static_cast<std::size_t>(cast.source_size()));
                std::vector<unsigned char> memory(
                    static_cast<std::size_t>(lines * target_pitch + 192), 0xee);
                unsigned char* const target = skewed(memory, 64);
                vectors.square({source.data() + 1, pitch}, {target, target_pitch}, streaming);
                streaming_fence();
                index_t wrong = target[-1] != 0xee;
                for (index_t i = 0; i < lines; ++i) {
                    for (index_t j = 0; j < width; ++j)
                        wrong += element(target + i * target_pitch, j, cast.target_size()) !=
                                 convert(cast.source, cast.target,
                                         element(at(i, j), 0, cast.source_size()));
                    wrong += target[i * target_pitch + width * cast.target_size()] != 0xee;
                }
                BOOST_TEST(wrong == 0, cast.text() << " with " << text(set));
            }
}

/// A pattern that masks treat apart, and its cast.
struct special_pattern {
    pair_of_types cast;
    std::uint64_t source;
    std::uint64_t target;
};

std::vector<special_pattern> special_patterns() {
    using enum data_type;
    return {
        {{f32, bf16}, 0x7f800001, 0x7fc0},            // the payload would be lost
        {{f32, bf16}, 0xffa12345, 0xffa1},            // signalling
        {{f32, bf16}, 0x7fffffff, 0x7fff},            // would carry
        {{f32, bf16}, 0x3f808000, 0x3f80},            // a tie
        {{f32, bf16}, 0x3f818000, 0x3f82},            // the other tie
        {{f32, bf16}, 0x00000001, 0x0000},            // subnormal
        {{f32, bf16}, 0x00018000, 0x0002},            // a tie of subnormals
        {{bf16, f32}, 0xff81, 0xff810000},            // signalling
        {{f32, f16}, 0x7fa02000, 0x7d01},             // signalling
        {{f32, f16}, 0xff800001, 0xfe00},             // the payload would be lost
        {{f16, f32}, 0x7d01, 0x7fa02000},             // signalling
        {{f16, f32}, 0xfe00, 0xffc00000},             // quiet
        {{f16, f32}, 0x0001, 0x33800000},             // subnormal
        {{f64, f32}, 0x7ff4000020000000, 0x7fa00001}, // signalling
        {{f64, f32}, 0xfff0000000000001, 0xffc00000}, // the payload would be lost
        {{f64, f32}, 0x7fefffffffffffff, 0x7f800000}, // too large
        {{f32, f64}, 0x7fa00001, 0x7ff4000020000000}, // signalling
        {{f32, f64}, 0xffc00000, 0xfff8000000000000}, // quiet
        {{f8_e4m3, f32}, 0xff, 0xffc00000},
        {{f8_e4m3, f32}, 0x7e, 0x43e00000}, // 448
        {{f8_e4m3, f32}, 0x01, 0x3b000000}, // 2 to the -9
        {{f8_e4m3, bf16}, 0xfe, 0xc3e0},
        {{f8_e5m2, f32}, 0xfc, 0xff800000},     // infinity
        {{f8_e5m2, bf16}, 0x7d, 0x7fa0},        // signalling
        {{f8_e4m3fnuz, f32}, 0x80, 0xffc00000}, // the only NaN
        {{f8_e5m2fnuz, bf16}, 0x80, 0xffc0},
    };
}

/// Every pattern that masks treat apart is cast in every lane and leaves the others alone.
void check_special_patterns(vector_set set) {
    constexpr index_t count = 80;
    for (auto const& [cast, source, target] : special_patterns()) {
        index_t wrong = 0;
        for (index_t lane = 0; lane < count; ++lane) {
            std::vector<unsigned char> given(static_cast<std::size_t>(count * cast.source_size()));
            std::vector<unsigned char> made(static_cast<std::size_t>(count * cast.target_size()),
                                            0xee);
            std::memcpy(given.data() + lane * cast.source_size(), &source,
                        static_cast<std::size_t>(cast.source_size()));
            cast.vectors(set).row(given.data(), made.data(), count, false);
            for (index_t i = 0; i < count; ++i)
                wrong += element(made.data(), i, cast.target_size()) != (i == lane ? target : 0);
        }
        BOOST_TEST(wrong == 0, cast.text() << " of " << source << " with " << text(set));
    }
}

/// Calls the check with each set of registers that the processor has.
void for_each_set(void (*check)(vector_set)) {
    for (vector_set const set : all_vectors)
        if (can_test(set))
            check(set);
}

} // namespace

BOOST_AUTO_TEST_SUITE(casts_in_registers)

BOOST_AUTO_TEST_CASE(rows_of_every_length_at_every_place_are_written_and_nothing_else) {
    for_each_set(check_rows);
}

BOOST_AUTO_TEST_CASE(long_rows_are_written_whole) { for_each_set(check_long_rows); }

BOOST_AUTO_TEST_CASE(squares_are_turned_and_converted_and_nothing_else_is_written) {
    for_each_set(check_squares);
}

BOOST_AUTO_TEST_CASE(a_special_pattern_is_cast_in_every_lane_and_leaves_the_others_alone) {
    for_each_set(check_special_patterns);
}

BOOST_AUTO_TEST_CASE(arithmetic_in_registers_is_that_of_the_processor) {
    using enum data_type;
    for (detail::vector_set const set : test::all_vectors) {
        if (!test::can_test(set))
            continue;
        for (auto const& [source, target] :
             {std::pair{bf16, bf16}, {bf16, f32}, {bf16, f16}, {f16, f16}, {f16, f32}})
            for (auto const operation :
                 {chain_step::operation::add, chain_step::operation::multiply})
                for (float const operand : {1.f, -.3f, 0x1p-20f}) {
                    chain_step const step{target, operation, operand};
                    auto const kernel = detail::computing_conversion_of(source, step, set);
                    BOOST_TEST_REQUIRE(static_cast<bool>(kernel));
                    std::vector<std::uint16_t> patterns(65'536 + 5);
                    std::iota(patterns.begin(), patterns.end(), std::uint16_t{0});
                    auto const bytes = static_cast<std::size_t>(bits(target) / 8);
                    std::vector<unsigned char> result(patterns.size() * bytes);
                    bool const streaming = operand != 1;
                    kernel.row(reinterpret_cast<unsigned char const*>(patterns.data()),
                               result.data(), static_cast<index_t>(patterns.size()), streaming);
                    std::size_t wrong = 0;
                    for (std::size_t i = 0; i < patterns.size(); ++i) {
                        auto const x = std::bit_cast<float>(
                            static_cast<std::uint32_t>(convert(source, f32, patterns[i])));
                        float const y =
                            operation == chain_step::operation::add ? x + operand : x * operand;
                        std::uint64_t const wanted =
                            convert(f32, target, std::bit_cast<std::uint32_t>(y));
                        std::uint64_t there = 0;
                        std::memcpy(&there, result.data() + i * bytes, bytes);
                        wrong += there != wanted;
                    }
                    BOOST_TEST(wrong == 0u, name(source) << " to " << name(target));
                }
    }
}

BOOST_AUTO_TEST_CASE(arithmetic_of_f32_is_that_of_the_processor) {
    using enum data_type;
    std::mt19937 random(17);
    std::vector<std::uint32_t> patterns(20'003);
    for (std::uint32_t& pattern : patterns)
        pattern = static_cast<std::uint32_t>(random());
    for (detail::vector_set const set : test::all_vectors) {
        if (!test::can_test(set))
            continue;
        for (data_type const target : {f32, bf16, f16})
            for (auto const operation :
                 {chain_step::operation::add, chain_step::operation::multiply})
                for (bool const streaming : {false, true}) {
                    auto const kernel =
                        detail::computing_conversion_of(f32, {target, operation, .3}, set);
                    auto const bytes = static_cast<std::size_t>(bits(target) / 8);
                    std::vector<unsigned char> result(patterns.size() * bytes);
                    kernel.row(reinterpret_cast<unsigned char const*>(patterns.data()),
                               result.data(), static_cast<index_t>(patterns.size()), streaming);
                    std::size_t wrong = 0;
                    for (std::size_t i = 0; i < patterns.size(); ++i) {
                        auto const x = std::bit_cast<float>(patterns[i]);
                        float const y = operation == chain_step::operation::add ? x + .3f : x * .3f;
                        std::uint64_t there = 0;
                        std::memcpy(&there, result.data() + i * bytes, bytes);
                        wrong += there != convert(f32, target, std::bit_cast<std::uint32_t>(y));
                    }
                    BOOST_TEST(wrong == 0u, "to " << name(target));
                }
    }
}

BOOST_AUTO_TEST_SUITE_END()
