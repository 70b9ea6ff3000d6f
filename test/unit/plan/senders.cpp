// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/senders.hpp>

#include "support/layouts.hpp"

#include <reshard/analysis/balance.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/layout/layout_of.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/flows.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>
#include <tuple>
#include <utility>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(plan_senders)

namespace {

/// `count` matrices, by rows over `tp` ranks, each of which `dp` have.
layout model(std::size_t count, index_t dp, index_t tp) {
    std::vector<tensor_sharding> tensors;
    for (std::size_t i = 0; i < count; ++i)
        tensors.push_back(sharding_of(
            "w" + std::to_string(i), data_type::f32,
            distribution(mesh({{"dp", dp}, {"tp", tp}}), {replicate{}, shard{0}}, {64, 8})));
    return layout_of(std::move(tensors));
}

/// The most that one rank sends, in relation to its least.
double excess(layout const& source, layout const& target) {
    catalog const wanted = catalog_of(target);
    mapping const program = identity_mapping(catalog_of(source), &wanted);
    plan_problem const problem = problem_of(program, source, target);
    BOOST_TEST_REQUIRE(
        !balanced_senders().steps->can_balance(problem, {}, source_indices(problem)));
    plan_balance::extreme const extreme =
        balance_of(plan_flows(problem), std::max(source.holders, target.holders)).sender;
    return static_cast<double>(extreme.bytes) / static_cast<double>(extreme.least_bytes);
}

/// The bytes of each sender to each receiver, and the busiest.
std::pair<std::vector<std::tuple<holder_t, holder_t, index_t>>, plan_balance>
given(layout const& source, layout const& target, plan_options const& options) {
    catalog const wanted = catalog_of(target);
    mapping const program = identity_mapping(catalog_of(source), &wanted);
    plan_problem const problem = problem_of(program, source, target);
    plan_flows const flows(problem, options);
    std::vector<std::tuple<holder_t, holder_t, index_t>> tuples;
    for (std::size_t kind = 0; kind < flows.size(); ++kind)
        flows.for_each(kind, [&](flow const& flow) {
            tuples.emplace_back(flow.source, flow.target, flow.bytes);
        });
    return {tuples, balance_of(flows, std::max(source.holders, target.holders))};
}

} // namespace

BOOST_AUTO_TEST_CASE(replicas_of_a_box_stand_together) {
    // Boxes of ranks 0 and 2, and of 1 and 3.
    layout const full_layout = model(1, 2, 2);
    tensor_shards const shards = full_layout.shards_of(full_layout.tensors[0]);
    BOOST_TEST((places_by_box(shards) == std::vector<std::uint32_t>{0, 2, 1, 3}));
    layout const listed_too = listed(full_layout);
    BOOST_TEST((places_by_box(listed_too.shards_of(listed_too.tensors[0])) ==
                std::vector<std::uint32_t>{0, 2, 1, 3}));
}

// More transfers than are balanced: replicas take turns.
BOOST_AUTO_TEST_CASE(many_ranks_a_power_of_two_apart_ask_all_replicas) {
    BOOST_TEST(excess(model(40, 8, 4), model(40, 512, 8)) <= 1.05);
    BOOST_TEST(excess(model(40, 7, 4), model(40, 512, 8)) <= 1.05);
}

BOOST_AUTO_TEST_CASE(ranks_that_have_their_own_do_not_spoil_the_turns_of_others) {
    // On the same ranks: every other one of those that want a half has it.
    BOOST_TEST(excess(model(80, 512, 4), model(80, 1024, 2)) <= 1.05);
}

BOOST_AUTO_TEST_CASE(where_few_want_what_many_have_equal_tensors_ask_others) {
    // Ranks 512 to 575 have nothing, and each wants what eight have.
    BOOST_TEST(excess(model(300, 8, 64), model(300, 9, 64)) <= 1.05);
}

BOOST_AUTO_TEST_CASE(all_are_on_one_node_that_has_room_for_more) {
    constexpr holder_t most = std::numeric_limits<holder_t>::max();
    for (auto const& how :
         {balanced_senders(), node_traffic{}, node_traffic{sender_choice::by_target}}) {
        auto const given_with = [&](holder_t per_node) {
            return given(model(3, 2, 4), model(3, 5, 2),
                         {.processes_per_node = per_node, .between_nodes = how});
        };
        auto const elements = given_with(10); // as many as there are
        BOOST_TEST(elements.first.size() >= 30u);
        BOOST_TEST((elements.second.link == plan_balance::extreme{}));
        for (holder_t const more : {holder_t{11}, most - 9, most - 8, most})
            BOOST_TEST((given_with(more) == elements));
    }
}

BOOST_AUTO_TEST_SUITE_END()
