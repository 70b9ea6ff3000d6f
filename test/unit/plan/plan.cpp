// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/plan.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(plan_plan)

namespace {

/// One transfer of 3 x 5 elements, turned by 90 degrees.
plan one_transfer(data_type source, data_type target) {
    pattern geometry(2);
    geometry.push_back({permutation::reversed(2), {10, 20}, {1, 2}, {3, 5}});
    transfer part;
    part.source_holder = 0;
    part.source_key = 0;
    return {{source}, {target}, {0}, {geometry}, {{}}, {part}};
}

data_type wire(data_type source, data_type target) {
    plan const whole = one_transfer(source, target);
    return wire_dtype(whole, whole.transfers[0]);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_transfer_is_32_bytes) { BOOST_TEST(sizeof(transfer) == 32u); }

BOOST_AUTO_TEST_CASE(the_narrower_type_travels) {
    BOOST_TEST((wire(data_type::f32, data_type::bf16) == data_type::bf16));
    BOOST_TEST((wire(data_type::bf16, data_type::f32) == data_type::bf16));
    BOOST_TEST((wire(data_type::i32, data_type::f32) == data_type::f32));
    BOOST_TEST((wire(data_type::f4, data_type::u8) == data_type::f4));
}

BOOST_AUTO_TEST_CASE(bytes_are_counted_in_what_travels) {
    auto const bytes = [](data_type source, data_type target) {
        plan const whole = one_transfer(source, target);
        return wire_bytes(whole, whole.transfers[0]);
    };
    BOOST_TEST(bytes(data_type::f32, data_type::bf16) == 30);
    BOOST_TEST(bytes(data_type::f64, data_type::f64) == 120);
    BOOST_TEST(bytes(data_type::f4, data_type::f4) == 8); // 60 bits
}

BOOST_AUTO_TEST_CASE(zeros_have_the_type_of_their_target) {
    plan whole = one_transfer(data_type::f32, data_type::f64);
    whole.transfers[0].source_key = zero_source;
    BOOST_TEST((wire_dtype(whole, whole.transfers[0]) == data_type::f64));
}

BOOST_AUTO_TEST_SUITE_END()
