// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/cast_chain.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;

using dtype = data_type;

BOOST_AUTO_TEST_SUITE(cast_chains)

BOOST_AUTO_TEST_CASE(widening_loses_nothing) {
    BOOST_TEST(is_lossless(dtype::bf16, dtype::f32));
    BOOST_TEST(is_lossless(dtype::f16, dtype::f32));
    BOOST_TEST(is_lossless(dtype::f32, dtype::f64));
    BOOST_TEST(is_lossless(dtype::f32, dtype::c64));
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
    BOOST_TEST((chain.steps()[0] == dtype::bf16));
    BOOST_TEST((chain.steps()[1] == dtype::f32));
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
    BOOST_TEST((chain.steps()[0] == dtype::f16));
}

BOOST_AUTO_TEST_CASE(casting_to_the_same_type_is_nothing) {
    BOOST_TEST(then({}, dtype::f32, dtype::f32).empty());
    auto const chain = then({}, dtype::f32, dtype::f16);
    BOOST_TEST((then(chain, dtype::f32, dtype::f16) == chain));
}

BOOST_AUTO_TEST_CASE(more_than_fifteen_roundings_are_refused) {
    cast_chain chain;
    for (int step = 0; step < 15; ++step)
        chain = then(chain, dtype::f32, step % 2 == 0 ? dtype::bf16 : dtype::f16);
    BOOST_TEST(chain.steps().size() == 15u);
    BOOST_CHECK_EXCEPTION(then(chain, dtype::f32, dtype::f16), error, [](error const& problem) {
        return problem.code() == errc::limit_exceeded;
    });
}

BOOST_AUTO_TEST_CASE(complex_numbers_are_castable_to_nothing_else) {
    BOOST_TEST(is_castable(dtype::f32, dtype::c64));
    BOOST_TEST(is_castable(dtype::c64, dtype::c64));
    BOOST_TEST(!is_castable(dtype::c64, dtype::f32));
    BOOST_TEST(!is_castable(dtype::c64, dtype::boolean));
}

BOOST_AUTO_TEST_SUITE_END()
