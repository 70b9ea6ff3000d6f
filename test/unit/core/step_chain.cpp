// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/step_chain.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

using dtype = data_type;

BOOST_AUTO_TEST_SUITE(step_chains)

namespace {

/// Which patterns of a small floating-point type are not ordinary numbers.
enum class specials { ieee, last_is_nan, minus_zero_is_nan, none };

double scaled(std::uint32_t bits, int fraction_bits, int bias) {
    int const field = static_cast<int>(bits >> fraction_bits);
    double const fraction = bits & ((1u << fraction_bits) - 1);
    double const hidden = field == 0 ? 0 : 1u << fraction_bits;
    return std::ldexp(hidden + fraction, std::max(field, 1) - bias - fraction_bits);
}

/// All that a type with a sign, an exponent and a fraction can hold.
std::vector<double> floats(int exponent_bits, int fraction_bits, int bias, specials kind) {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const infinity = std::numeric_limits<double>::infinity();
    std::uint32_t const count = 1u << (exponent_bits + fraction_bits);
    std::vector<double> result;
    for (std::uint32_t bits = 0; bits < count; ++bits) {
        double value = scaled(bits, fraction_bits, bias);
        if (kind == specials::ieee && bits >> fraction_bits == (1u << exponent_bits) - 1)
            value = bits & ((1u << fraction_bits) - 1) ? nan : infinity;
        if (kind == specials::last_is_nan && bits == count - 1)
            value = nan;
        result.push_back(value);
        result.push_back(kind == specials::minus_zero_is_nan && bits == 0 ? nan : -value);
    }
    return result;
}

std::vector<double> integers(int first, int last) {
    std::vector<double> result;
    for (int value = first; value <= last; ++value)
        result.push_back(value);
    return result;
}

/// The powers of two from 2^-127 to 2^127, and NaN.
std::vector<double> powers() {
    std::vector<double> result{std::numeric_limits<double>::quiet_NaN()};
    for (int exponent = -127; exponent <= 127; ++exponent)
        result.push_back(std::ldexp(1., exponent));
    return result;
}

/// All that a type of at most 16 bits can hold; nothing for a wider one.
std::vector<double> values_of(dtype type) {
    switch (type) {
    case dtype::boolean: return {0, 1};
    case dtype::u8: return integers(0, 255);
    case dtype::i8: return integers(-128, 127);
    case dtype::u16: return integers(0, 65535);
    case dtype::i16: return integers(-32768, 32767);
    case dtype::f4: return floats(2, 1, 1, specials::none);
    case dtype::f6_e2m3: return floats(2, 3, 1, specials::none);
    case dtype::f6_e3m2: return floats(3, 2, 3, specials::none);
    case dtype::f8_e4m3: return floats(4, 3, 7, specials::last_is_nan);
    case dtype::f8_e4m3fnuz: return floats(4, 3, 8, specials::minus_zero_is_nan);
    case dtype::f8_e5m2: return floats(5, 2, 15, specials::ieee);
    case dtype::f8_e5m2fnuz: return floats(5, 2, 16, specials::minus_zero_is_nan);
    case dtype::f8_e8m0: return powers();
    case dtype::f16: return floats(5, 10, 15, specials::ieee);
    case dtype::bf16: return floats(8, 7, 127, specials::ieee);
    default: return {};
    }
}

/// A value as a pattern: zeros of two signs differ, all NaN are one.
std::uint64_t pattern(double value) {
    return std::isnan(value) ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(value);
}

bool is_integer(double value, double first, double end) {
    return value >= first && value < end && value == std::trunc(value) &&
           !(value == 0 && std::signbit(value));
}

/// Whether a type of more than 16 bits has that value.
bool wide_has(dtype type, double value) {
    switch (type) {
    case dtype::i32: return is_integer(value, -0x1p31, 0x1p31);
    case dtype::u32: return is_integer(value, 0, 0x1p32);
    case dtype::i64: return is_integer(value, -0x1p63, 0x1p63);
    case dtype::u64: return is_integer(value, 0, 0x1p64);
    case dtype::f32: return pattern(static_cast<float>(value)) == pattern(value);
    case dtype::c64:
    case dtype::c128: return false; // real numbers do not become complex ones
    default: return true;
    }
}

/// Whether one type has all values of the other: each is looked for.
bool holds_all(std::vector<double> const& values, dtype type) {
    std::vector<std::uint64_t> indices;
    for (double const value : values_of(type))
        indices.push_back(pattern(value));
    std::ranges::sort(indices);
    return std::ranges::all_of(values, [&](double const value) {
        return indices.empty() ? wide_has(type, value)
                               : std::ranges::binary_search(indices, pattern(value));
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_cast_loses_nothing_exactly_where_every_value_is_there) {
    int count = 0;
    for (std::size_t from = 0; from < data_type_count; ++from) {
        std::vector<double> const values = values_of(static_cast<dtype>(from));
        for (std::size_t to = 0; to < data_type_count && !values.empty(); ++to, ++count)
            BOOST_TEST(is_lossless(static_cast<dtype>(from), static_cast<dtype>(to)) ==
                           holds_all(values, static_cast<dtype>(to)),
                       all_data_types[from].name << " to " << all_data_types[to].name);
    }
    BOOST_TEST(count == 15 * 23);
}

BOOST_AUTO_TEST_CASE(what_has_a_zero_loses_it_in_powers_of_two) {
    for (std::size_t i = 0; i < data_type_count; ++i)
        if (auto const from = static_cast<dtype>(i); from != dtype::f8_e8m0)
            BOOST_TEST(!is_lossless(from, dtype::f8_e8m0), name(from));
    auto const chain = then(then({}, dtype::boolean, dtype::f8_e8m0), dtype::boolean, dtype::f32);
    BOOST_TEST_REQUIRE(chain.steps().size() == 2u);
    BOOST_TEST((chain.steps()[0] == chain_step{dtype::f8_e8m0}));
}

BOOST_AUTO_TEST_CASE(widening_loses_nothing) {
    BOOST_TEST(is_lossless(dtype::bf16, dtype::f32));
    BOOST_TEST(is_lossless(dtype::f16, dtype::f32));
    BOOST_TEST(is_lossless(dtype::f32, dtype::f64));
    BOOST_TEST(is_lossless(dtype::c64, dtype::c128));
    BOOST_TEST(is_lossless(dtype::f8_e4m3, dtype::f16));
    BOOST_TEST(is_lossless(dtype::f8_e5m2, dtype::bf16));
    BOOST_TEST(is_lossless(dtype::f8_e8m0, dtype::f32));
    BOOST_TEST(is_lossless(dtype::f4, dtype::f6_e2m3));
    BOOST_TEST(is_lossless(dtype::u8, dtype::i16));
    BOOST_TEST(is_lossless(dtype::i16, dtype::f32));
    BOOST_TEST(is_lossless(dtype::i32, dtype::f64));
    BOOST_TEST(is_lossless(dtype::u8, dtype::u8));
}

BOOST_AUTO_TEST_CASE(what_has_fewer_digits_or_less_range_loses) {
    BOOST_TEST(!is_lossless(dtype::f32, dtype::bf16));
    BOOST_TEST(!is_lossless(dtype::bf16, dtype::f16));
    BOOST_TEST(!is_lossless(dtype::f16, dtype::bf16));
    BOOST_TEST(!is_lossless(dtype::i64, dtype::f64));
    BOOST_TEST(!is_lossless(dtype::i32, dtype::f32));
    BOOST_TEST(!is_lossless(dtype::i8, dtype::u8));
    BOOST_TEST(!is_lossless(dtype::u8, dtype::i8));
    BOOST_TEST(!is_lossless(dtype::c64, dtype::f32));
    BOOST_TEST(!is_lossless(dtype::c128, dtype::c64));
    BOOST_TEST(!is_lossless(dtype::f32, dtype::c64));
    BOOST_TEST(!is_lossless(dtype::f8_e8m0, dtype::f16)); // 2^127
}

BOOST_AUTO_TEST_CASE(special_values_count) {
    BOOST_TEST(!is_lossless(dtype::f8_e4m3, dtype::f8_e4m3fnuz)); // minus zero, and the range
    BOOST_TEST(!is_lossless(dtype::f8_e5m2, dtype::f8_e5m2fnuz)); // infinity
    BOOST_TEST(!is_lossless(dtype::f6_e2m3, dtype::f8_e4m3fnuz)); // minus zero alone
    BOOST_TEST(!is_lossless(dtype::f4, dtype::i8));               // minus zero
    BOOST_TEST(is_lossless(dtype::f4, dtype::f8_e4m3));
}

BOOST_AUTO_TEST_CASE(a_rounding_stays_though_the_type_comes_back) {
    auto const chain = then(then({}, dtype::f32, dtype::bf16), dtype::f32, dtype::f32);
    BOOST_TEST_REQUIRE(chain.steps().size() == 2u);
    BOOST_TEST((chain.steps()[0] == chain_step{dtype::bf16}));
    BOOST_TEST((chain.steps()[1] == chain_step{dtype::f32}));
    BOOST_TEST((result(dtype::f32, chain) == dtype::f32));
}

BOOST_AUTO_TEST_CASE(a_widening_that_is_taken_back_is_no_step) {
    auto const chain = then(then({}, dtype::bf16, dtype::f32), dtype::bf16, dtype::bf16);
    BOOST_TEST(chain.empty());
    BOOST_TEST((result(dtype::bf16, chain) == dtype::bf16));
}

BOOST_AUTO_TEST_CASE(a_widening_on_the_way_elsewhere_is_dropped) {
    auto const chain = then(then({}, dtype::bf16, dtype::f64), dtype::bf16, dtype::f16);
    BOOST_TEST_REQUIRE(chain.steps().size() == 1u);
    BOOST_TEST((chain.steps()[0] == chain_step{dtype::f16}));
}

BOOST_AUTO_TEST_CASE(casting_to_the_same_type_is_nothing) {
    BOOST_TEST(then({}, dtype::f32, dtype::f32).empty());
    auto const chain = then({}, dtype::f32, dtype::f16);
    BOOST_TEST((then(chain, dtype::f32, dtype::f16) == chain));
}

BOOST_AUTO_TEST_CASE(more_than_fifteen_roundings_are_refused) {
    step_chain chain;
    for (int step = 0; step < 15; ++step)
        chain = then(chain, dtype::f32, step % 2 == 0 ? dtype::bf16 : dtype::f16);
    BOOST_TEST(chain.steps().size() == 15u);
    BOOST_CHECK_EXCEPTION(then(chain, dtype::f32, dtype::f16), error, [](error const& problem) {
        return problem.code() == errc::limit_exceeded;
    });
}

namespace {

constexpr chain_step times(double factor, dtype rounded) {
    return {rounded, chain_step::operation::multiply, factor};
}

constexpr chain_step plus(double addend, dtype rounded) {
    return {rounded, chain_step::operation::add, addend};
}

} // namespace

BOOST_AUTO_TEST_CASE(arithmetic_is_kept_with_its_constant_and_its_type) {
    step_chain const narrow = then({}, dtype::bf16, plus(1, dtype::bf16));
    BOOST_TEST(narrow.count == 5); // a byte, and an f32
    BOOST_TEST_REQUIRE(narrow.steps().size() == 1u);
    BOOST_TEST((narrow.steps()[0] == plus(1, dtype::bf16)));
    BOOST_TEST((result(dtype::bf16, narrow) == dtype::bf16));
    step_chain const wide = then({}, dtype::f64, times(.1, dtype::f64));
    BOOST_TEST(wide.count == 9);
    BOOST_TEST(wide.steps()[0].operand == .1);
    BOOST_TEST(then({}, dtype::f32, times(.1, dtype::f32)).steps()[0].operand == double{.1f});
}

BOOST_AUTO_TEST_CASE(a_sum_twice_is_two_steps) {
    step_chain const chain =
        then(then({}, dtype::bf16, plus(1, dtype::bf16)), dtype::bf16, plus(-1, dtype::bf16));
    BOOST_TEST_REQUIRE(chain.steps().size() == 2u);
    BOOST_TEST((chain.steps()[1] == plus(-1, dtype::bf16)));
}

BOOST_AUTO_TEST_CASE(a_cast_of_an_unrounded_result_rounds_it) {
    // f32 is the type of the computation, so nothing is rounded before the cast.
    step_chain const once =
        then(then({}, dtype::bf16, times(3, dtype::f32)), dtype::bf16, dtype::f16);
    BOOST_TEST_REQUIRE(once.steps().size() == 1u);
    BOOST_TEST((once.steps()[0] == times(3, dtype::f16)));
    // Here the sum is rounded to bf16 first.
    step_chain const twice =
        then(then({}, dtype::f32, plus(3, dtype::bf16)), dtype::f32, dtype::f16);
    BOOST_TEST_REQUIRE(twice.steps().size() == 2u);
    BOOST_TEST((twice.steps()[0] == plus(3, dtype::bf16)));
    // An f64 that is computed in f64, and then in f32 for the cast, is rounded twice, too.
    BOOST_TEST(
        then(then({}, dtype::f32, plus(3, dtype::f64)), dtype::f32, dtype::f32).steps().size() ==
        2u);
}

BOOST_AUTO_TEST_CASE(a_widening_before_arithmetic_is_dropped_if_the_computation_is_the_same) {
    step_chain const wide = then({}, dtype::bf16, dtype::f32);
    BOOST_TEST((then(wide, dtype::bf16, plus(1, dtype::f32)) ==
                then({}, dtype::bf16, plus(1, dtype::f32))));
    step_chain const widest = then({}, dtype::bf16, dtype::f64);
    BOOST_TEST(then(widest, dtype::bf16, plus(1, dtype::f32)).steps().size() == 2u);
    step_chain const rounded = then({}, dtype::f32, dtype::bf16);
    BOOST_TEST(then(rounded, dtype::f32, plus(1, dtype::bf16)).steps().size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_chain_has_room_for_three_sums_and_for_one_in_f64) {
    step_chain chain;
    for (int sum = 0; sum < 3; ++sum)
        chain = then(chain, dtype::bf16, plus(sum, dtype::bf16));
    auto const is_limit = [](error const& problem) {
        return problem.code() == errc::limit_exceeded;
    };
    BOOST_CHECK_EXCEPTION(then(chain, dtype::bf16, plus(1, dtype::bf16)), error, is_limit);
    BOOST_CHECK_EXCEPTION(then(chain, dtype::bf16, dtype::f16), error, is_limit);
    step_chain const wide = then({}, dtype::f64, plus(.1, dtype::f64));
    BOOST_CHECK_EXCEPTION(then(wide, dtype::f64, plus(.1, dtype::f64)), error, is_limit);
    step_chain const narrow = then(wide, dtype::f64, plus(.5, dtype::f64));
    BOOST_TEST_REQUIRE(narrow.steps().size() == 2u);
    BOOST_TEST((narrow.steps()[1] == plus(.5, dtype::f64)));
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_chain_are_refused) {
    auto const is_bad = [](error const& problem) { return problem.code() == errc::bad_layout; };
    for (int const code : {23, 31, 0x20, 0x20 + 3, 0xe0, 0xe3}) {
        step_chain chain;
        chain.values[chain.count++] = static_cast<std::uint8_t>(code);
        BOOST_CHECK_EXCEPTION(validate(chain), error, is_bad);
    }
    step_chain cut = then({}, dtype::bf16, plus(1, dtype::bf16));
    --cut.count;
    BOOST_CHECK_EXCEPTION(validate(cut), error, is_bad);
}

BOOST_AUTO_TEST_CASE(complex_numbers_are_castable_to_nothing_else) {
    BOOST_TEST(is_castable(dtype::c64, dtype::c128));
    BOOST_TEST(is_castable(dtype::c128, dtype::c64));
    BOOST_TEST(!is_castable(dtype::f32, dtype::c64));
    BOOST_TEST(!is_castable(dtype::c128, dtype::f64));
    BOOST_TEST(!is_castable(dtype::c64, dtype::f32));
    BOOST_TEST(!is_castable(dtype::c64, dtype::boolean));
}

BOOST_AUTO_TEST_CASE(a_product_with_scales_is_the_first_step_and_says_which_bits_are_meant) {
    using enum data_type;
    constexpr auto dequantize = chain_step::operation::dequantize;
    for (double const number : {0., 1., 2.}) {
        step_chain const chain =
            then(then({}, u8, chain_step{bf16, dequantize, number}), u8, chain_step{f16});
        BOOST_TEST(chain.dequantizes());
        BOOST_TEST(chain.computes());
        BOOST_TEST_REQUIRE(chain.steps().size() == 2u);
        BOOST_TEST((chain.steps()[0] == chain_step{bf16, dequantize, number}));
        BOOST_TEST((chain.steps()[1] == chain_step{f16}));
    }
    // Rounded to the type of the computation first, or to a narrower one.
    step_chain const once = then(then({}, f8_e4m3, chain_step{f32, dequantize}), f8_e4m3, bf16);
    BOOST_TEST((once == then({}, f8_e4m3, chain_step{bf16, dequantize})));
    step_chain const twice = then(then({}, f8_e4m3, chain_step{f16, dequantize}), f8_e4m3, bf16);
    BOOST_TEST(twice.steps().size() == 2u);

    step_chain later = then({}, f32, f16);
    later.values[later.count++] = then({}, f8_e4m3, chain_step{bf16, dequantize}).values[0];
    BOOST_CHECK_THROW(validate(later), error);
    step_chain third = then({}, u8, chain_step{bf16, dequantize, 2});
    third.values[1] = 3;
    BOOST_CHECK_THROW(validate(third), error);
}

BOOST_AUTO_TEST_SUITE_END()
