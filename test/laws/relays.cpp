// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/analysis/simulation.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/verify.hpp>

#include "support/planned_scenario.hpp"
#include "support/resolved.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::for_each_program;
using reshard::test::planned;

BOOST_AUTO_TEST_SUITE(laws_relays)

namespace {

/// Each holder by its own process, in nodes of `processes_per_node`.
plan_options relayed(holder_t processes_per_node, holder_t processes = 0) {
    return {.processes = processes,
            .processes_per_node = processes_per_node,
            .between_nodes = detail::all_relays()};
}

/// A transfer with all that its relay says written out.
struct resolved_relay {
    test::resolved_transfer moved;
    std::optional<relay_tree> tree;
    std::uint32_t position = 0;
    holder_t sender = 0;

    bool operator==(resolved_relay const&) const = default;
};

std::vector<resolved_relay> resolved_relays(plan const& plan) {
    std::vector<resolved_relay> relays;
    auto const transfers = test::resolved(plan);
    for (std::uint32_t i = 0; i < plan.transfers.size(); ++i) {
        relay const* const step = find_relay(plan.relays, i);
        relays.push_back({transfers[i], std::nullopt, 0, sender_of(plan, plan.transfers[i], step)});
        if (step) {
            relays.back().tree = plan.trees[step->tree];
            relays.back().position = step->position;
        }
    }
    return relays;
}

} // namespace

BOOST_AUTO_TEST_CASE(relayed_plans_write_every_element_once_and_pass_on_what_has_arrived) {
    std::size_t relays = 0;
    for_each_program(test::program_count, [&](planned const& planned) {
        for (holder_t const per_node : {0u, 2u, 3u}) {
            plan const plan = make_plan(planned.problem, {}, relayed(per_node));
            BOOST_TEST(!verify(plan, planned.problem));
            relays += plan.relays.size();
            validate(plan);
        }
    });
    BOOST_TEST(relays > 0u);
}

BOOST_AUTO_TEST_CASE(the_relayed_plan_of_one_rank_is_what_it_sends_and_gets) {
    for_each_program(test::program_count, [](planned const& planned) {
        holder_t const ranks = std::max(planned.source.holders, planned.target.holders);
        plan const whole_plan = make_plan(planned.problem, {}, relayed(0));
        auto const elements = resolved_relays(whole_plan);
        for (holder_t rank = 0; rank < ranks; ++rank) {
            holder_set const me({rank});
            plan const plan = make_plan(planned.problem, {me, me}, relayed(0));
            std::vector<resolved_relay> expected;
            for (resolved_relay const& t : elements)
                if (t.sender == rank || t.moved.numbers.target_holder == rank)
                    expected.push_back(t);
            BOOST_TEST((resolved_relays(plan) == expected));
            BOOST_TEST(!verify(plan, planned.problem, me));
        }
    });
}

BOOST_AUTO_TEST_CASE(everybody_gets_as_many_bytes_as_without_relays) {
    for_each_program(test::trials(500), [](planned const& planned) {
        for (holder_t const processes : {1u, 3u, 8u}) {
            plan_options const options = relayed(2, processes);
            plan const plan = make_plan(planned.problem, {}, options);
            BOOST_TEST(!verify(plan, planned.problem));
            plan_cost const cost = cost_of(plan, processes, options);
            plan_cost const direct = cost_of(make_plan(planned.problem, {}, {processes, false, 2}),
                                             processes, {processes, false, 2});
            BOOST_TEST((cost_of(plan_flows(planned.problem, options), processes) == cost));
            BOOST_TEST(cost.bytes == direct.bytes);
            BOOST_TEST(cost.bytes_local == direct.bytes_local);
            index_t out = 0;
            for (holder_t i = 0; i < processes; ++i) {
                BOOST_TEST(cost.by_process[i].bytes_in == direct.by_process[i].bytes_in);
                out += cost.by_process[i].bytes_out;
            }
            BOOST_TEST(out == cost.bytes - cost.bytes_local);
        }
    });
}

BOOST_AUTO_TEST_CASE(a_box_leaves_its_source_for_one_receiver_on_other_nodes) {
    for_each_program(test::trials(500), [](planned const& planned) {
        plan const plan = make_plan(planned.problem, {}, relayed(0));
        // Of targets with one type, each source shard's box of a target goes to one holder only.
        std::set<std::tuple<std::uint32_t, std::uint32_t, std::vector<index_t>>> sent;
        for (std::uint32_t i = 0; i < plan.transfers.size(); ++i) {
            transfer const& t = plan.transfers[i];
            relay const* const step = find_relay(plan.relays, i);
            if (!step || step->position > 0)
                continue;
            box const region = cut_of(plan, t).target_box();
            std::vector<index_t> numbers(region.offset.begin(), region.offset.end());
            numbers.insert(numbers.end(), region.shape.begin(), region.shape.end());
            BOOST_TEST(sent.insert({t.target_key, t.source_holder, numbers}).second);
        }
    });
}

BOOST_AUTO_TEST_CASE(chosen_relays_are_faster_when_they_are_simulated) {
    // Small tensors: a choice by bytes and chunks cannot know everything that happens in order.
    std::size_t chosen = 0;
    double sum = 0;
    for_each_program(test::trials(1000), [&](planned const& planned) {
        for (holder_t const per_node : {1u, 2u, 3u}) {
            network over;
            over.ranks_per_node = per_node;
            for (network::speed* const speed : {&over.copy, &over.memory, &over.link})
                speed->latency_seconds = 0;
            auto const seconds = [&](node_traffic const& traffic) {
                plan_flows const flows(planned.problem,
                                       {.processes_per_node = per_node, .between_nodes = traffic});
                return std::pair{flows.options().between_nodes.has_relays(),
                                 simulate(flows, over).seconds};
            };
            auto const [is_relayed, relayed] = seconds(relays(over));
            double const direct = seconds(balanced_senders()).second;
            BOOST_TEST(relayed <= (is_relayed ? 1.25 : 1) * direct);
            chosen += is_relayed;
            sum += is_relayed ? relayed / direct : 0;
        }
    });
    BOOST_TEST(chosen > 0u);
    BOOST_TEST(sum <= 0.9 * static_cast<double>(chosen));
}

BOOST_AUTO_TEST_SUITE_END()
