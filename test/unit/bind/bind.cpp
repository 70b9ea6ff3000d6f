// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/bind.hpp>

#include "support/layouts.hpp"

#include <reshard/expr/algebra.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include <boost/test/unit_test.hpp>

#include <numeric>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;

namespace {

/// A matrix of 2 x 3, transposed into columns 1 to 2 of the target's 3 x 2 shard of 3 x 4; the rest are
/// zeros.
struct bind_fixture {
    std::vector<float> from = {1, 2, 3, 4, 5, 6};
    std::vector<float> to = std::vector<float>(9, -1);
    const_state_dict source;
    state_dict target;
    mapping program;
    layout source_layout, target_layout;
    plan_problem problem;
    plan whole;
    shard_views<const_tensor_view> sources;
    shard_views<tensor_view> targets;

    bind_fixture() {
        source.add(part("a", {2, 3}, {{0, 0}, {2, 3}}),
                   const_tensor_view{from.data(), data_type::f32, {2, 3}, {3, 1}});
        // Columns 1 to 2 of 3 x 4, in memory with one float of padding after each row.
        target.add(part("t", {3, 4}, {{0, 1}, {3, 2}}),
                   tensor_view{to.data(), data_type::f32, {3, 2}, {3, 1}});
        expression const a = program.source("a", {2, 3}, data_type::f32);
        program.define("t", concat({transpose(a), zeros({3, 2}, data_type::f32)}, 1));
        source_layout = layout_of({source.descriptors()});
        target_layout = layout_of({target.descriptors()});
        problem = problem_of(program, source_layout, target_layout);
        whole = make_plan(problem);
        sources.add(source, source_layout, 0);
        targets.add(target, target_layout, 0);
    }

    bound_plan bound() const { return {whole, problem, sources, targets}; }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(local_bind, bind_fixture)

BOOST_AUTO_TEST_CASE(both_ends_have_the_axes_of_the_target) {
    BOOST_TEST_REQUIRE(whole.transfers.size() == 2u);
    auto const source_side = source_end(bound(), whole.transfers[0]);
    // Target column 1 is source row 1: its first element is number 3, and the target's axes are the
    // source's in reverse.
    BOOST_TEST(source_side.data == from.data());
    BOOST_TEST((source_side.position == memory_place{3, {1, 3}}));
    auto const target_side = target_end(bound(), whole.transfers[0]);
    BOOST_TEST(target_side.data == to.data());
    BOOST_TEST((target_side.position == memory_place{0, {3, 1}}));
}

BOOST_AUTO_TEST_CASE(running_every_transfer_fills_the_target_and_nothing_else) {
    for (transfer const& transfer : whole.transfers)
        run_locally(bound(), transfer);
    BOOST_TEST(to == (std::vector<float>{4, 0, -1, 5, 0, -1, 6, 0, -1}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_conversion_has_the_stored_type_and_the_chain) {
    element_conversion const plain = conversion_of(bound(), whole.transfers[0]);
    BOOST_TEST((plain.source == data_type::f32));
    BOOST_TEST(plain.chain.empty());
}

BOOST_AUTO_TEST_SUITE_END()
