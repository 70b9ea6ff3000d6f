// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/plan.hpp>

#include "support/relay_trees.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>

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
    plan const plan = one_transfer(source, target);
    return wire_dtype(plan, plan.transfers[0]);
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
        plan const plan = one_transfer(source, target);
        return wire_bytes(plan, plan.transfers[0]);
    };
    BOOST_TEST(bytes(data_type::f32, data_type::bf16) == 30);
    BOOST_TEST(bytes(data_type::f64, data_type::f64) == 120);
    BOOST_TEST(bytes(data_type::f4, data_type::f4) == 8); // 60 bits
}

BOOST_AUTO_TEST_CASE(zeros_have_the_type_of_their_target) {
    plan plan = one_transfer(data_type::f32, data_type::f64);
    plan.transfers[0].source_key = zero_source;
    BOOST_TEST((wire_dtype(plan, plan.transfers[0]) == data_type::f64));
}

namespace {

/// Rank 0 has an element that rank 1 gets and passes on to rank 2.
plan one_relay() {
    plan plan = one_transfer(data_type::f32, data_type::f32);
    transfer second = plan.transfers[0];
    plan.transfers[0].target_holder = 1;
    second.target_holder = 2;
    second.target_shard = 1;
    plan.transfers.push_back(second);
    plan.trees = test::tree_of({0, {1, 2}, 1});
    plan.relays = {{0, 0, 0, 5, relay::no_input}, {1, 0, 1, 5, 0}};
    return plan;
}

/// The error of that plan once `change` has changed it.
std::string fault_of(auto&& change) {
    plan plan = one_relay();
    change(plan);
    try {
        validate(plan);
        return "";
    } catch (error const& problem) {
        BOOST_TEST((problem.code() == errc::bad_layout));
        return problem.what();
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_plan_with_trees_that_are_none_is_refused) {
    BOOST_TEST(fault_of([](plan&) {}) == "");
    for (std::uint32_t const branches : {0u, 3u, 0xffffffffu})
        BOOST_TEST(fault_of([&](plan& plan) { plan.trees.trees[0].branches = branches; }) ==
                   "it has a relay tree with no branches, or with more branches than receivers");
    for (std::vector<holder_t> const& receivers :
         {std::vector<holder_t>{1, 1}, {1, 0}, {no_holder, 2}})
        BOOST_TEST(fault_of([&](plan& plan) { plan.trees.lists[0] = receivers; }) ==
                   "it has a relay tree that lists a holder twice, or lists no_holder");
    BOOST_TEST(fault_of([](plan& plan) { plan.trees.trees[0].source = no_holder; }) ==
               "it has a relay tree that lists a holder twice, or lists no_holder");
    BOOST_TEST(fault_of([](plan& plan) { plan.trees.trees.push_back(plan.trees.trees[0]); }) ==
               "it has the same relay tree twice");
}

BOOST_AUTO_TEST_CASE(a_plan_that_passes_on_what_does_not_come_is_refused) {
    char const* const text = "it has a relay for elements that its input does not bring";
    BOOST_TEST(fault_of([](plan& plan) { plan.relays[1].input = 1; }) == text); // itself
    BOOST_TEST(fault_of([](plan& plan) { plan.relays[1].input = 2; }) == text); // nothing
    BOOST_TEST(fault_of([](plan& plan) { plan.relays[1].box = 6; }) == text);
    BOOST_TEST(fault_of([](plan& plan) { plan.relays[0].input = 1; }) ==
               text); // the source gives it
    BOOST_TEST(fault_of([](plan& plan) { plan.relays[1].position = 2; }) ==
               "it has a relay to a holder at another position");
}

BOOST_AUTO_TEST_SUITE_END()
