// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/verify.hpp>

#include "support/experiment.hpp"
#include "support/planned_scenario.hpp"
#include "support/resolved.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <tuple>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::for_each_program;
using reshard::test::planned;
using reshard::test::resolved;

BOOST_AUTO_TEST_SUITE(laws_plan)

namespace {

plan_options const balanced{.between_nodes = balanced_senders()};

} // namespace

BOOST_AUTO_TEST_CASE(every_plan_writes_every_element_once) {
    for_each_program(test::program_count, [](planned const& planned) {
        plan const plan = make_plan(planned.problem, {}, balanced);
        BOOST_TEST(!verify(plan, planned.problem));
        index_t wanted = 0, written = 0;
        for (target_side const& target : planned.problem.targets)
            for (std::uint32_t i = 0; i < target.shards.size() && !target.added; ++i)
                wanted += element_count(
                    local_shape({"", {}, {}, target.shards.region(i), target.shards.flat(i)}));
        for (transfer const& part : plan.transfers)
            written += element_count(cut_of(plan, part).extent);
        BOOST_TEST(written == wanted);
    });
}

BOOST_AUTO_TEST_CASE(the_plan_of_one_rank_is_its_part_of_the_plan_of_all) {
    for_each_program(test::trials(500), [](planned const& planned) {
        plan const whole_plan = make_plan(planned.problem, {}, balanced);
        holder_t const ranks = std::max(planned.source.holders, planned.target.holders);
        for (holder_t rank = 0; rank < ranks; ++rank) {
            holder_set const me({rank});
            holder_set const nobody(std::vector<holder_t>{});
            auto const gives = [&](transfer const& part) { return part.source_holder == rank; };
            auto const gets = [&](transfer const& part) { return part.target_holder == rank; };
            auto const either = [&](transfer const& part) { return gives(part) || gets(part); };
            BOOST_TEST((resolved(make_plan(planned.problem, {me, me}, balanced)) ==
                        resolved(whole_plan, either)));
            BOOST_TEST((resolved(make_plan(planned.problem, {me, nobody}, balanced)) ==
                        resolved(whole_plan, gives)));
            plan const incoming = make_plan(planned.problem, {nobody, me}, balanced);
            BOOST_TEST((resolved(incoming) == resolved(whole_plan, gets)));
            BOOST_TEST(!verify(incoming, planned.problem, me));
        }
    });
}

BOOST_AUTO_TEST_CASE(sender_and_receiver_see_one_list) {
    for_each_program(test::trials(300), [](planned const& planned) {
        std::vector<plan> plans;
        holder_t const ranks = std::max(planned.source.holders, planned.target.holders);
        for (holder_t rank = 0; rank < ranks; ++rank)
            plans.push_back(
                make_plan(planned.problem, {holder_set({rank}), holder_set({rank})}, balanced));
        for (holder_t from = 0; from < ranks; ++from)
            for (holder_t to = 0; to < ranks; ++to) {
                auto const between = [&](transfer const& part) {
                    return part.source_holder == from && part.target_holder == to;
                };
                BOOST_TEST((resolved(plans[from], between) == resolved(plans[to], between)));
            }
    });
}

BOOST_AUTO_TEST_CASE(a_set_of_ranks_plans_what_its_members_plan) {
    for_each_program(test::trials(300), [](planned const& planned) {
        plan const plan = make_plan(planned.problem);
        holder_set const odd({1, 3, 5, 7});
        auto const concerns = [&](transfer const& part) {
            return odd.contains(part.target_holder) ||
                   (part.source_holder != no_holder && odd.contains(part.source_holder));
        };
        BOOST_TEST((resolved(make_plan(planned.problem, {odd, odd})) == resolved(plan, concerns)));
    });
}

BOOST_AUTO_TEST_CASE(the_order_of_shards_within_a_rank_decides_at_most_which_replica_gives) {
    auto const cost = [](planned const& planned) {
        return cost_of(make_plan(planned.problem),
                       std::max(planned.source.holders, planned.target.holders));
    };
    for (std::uint64_t seed = 0; seed < test::trials(300); ++seed) {
        oracle::scenario scenario = oracle::generator(seed).make();
        planned const before(scenario);
        oracle::random_numbers random(seed);
        for (std::vector<oracle::tensor>* side : {&scenario.sources, &scenario.targets})
            for (oracle::tensor& tensor : *side)
                random.shuffle(tensor.shards);
        planned const after(scenario);
        plan_cost const first = cost(before), second = cost(after);
        BOOST_TEST_CONTEXT("seed " << seed) {
            BOOST_TEST(first.bytes == second.bytes);
            BOOST_TEST(first.bytes_local == second.bytes_local);
            for (std::size_t i = 0; i < first.by_process.size(); ++i)
                BOOST_TEST(first.by_process[i].bytes_in == second.by_process[i].bytes_in);
            BOOST_TEST(!verify(make_plan(after.problem), after.problem));
        }
    }
}

BOOST_AUTO_TEST_CASE(what_goes_out_comes_in_and_every_byte_is_counted) {
    for_each_program(test::trials(500), [](planned const& planned) {
        for (holder_t const processes : {1u, 3u, 8u}) {
            plan_options const options{.processes = processes, .between_nodes = balanced_senders()};
            plan const plan = make_plan(planned.problem, {}, options);
            BOOST_TEST(!verify(plan, planned.problem));
            plan_cost const cost = cost_of(plan, processes, options);
            process_cost sum;
            for (process_cost const& process : cost.by_process) {
                sum.bytes_in += process.bytes_in;
                sum.bytes_out += process.bytes_out;
                sum.bytes_local += process.bytes_local;
                sum.messages_in += process.messages_in;
                sum.messages_out += process.messages_out;
            }
            BOOST_TEST(sum.bytes_in == sum.bytes_out);
            BOOST_TEST(sum.messages_in == sum.messages_out);
            BOOST_TEST(sum.messages_in == cost.messages);
            BOOST_TEST(sum.bytes_in + sum.bytes_local == cost.bytes);
            BOOST_TEST(sum.bytes_local == cost.bytes_local);
            BOOST_TEST((cost_of(plan_flows(planned.problem, options), processes) == cost));
            if (processes == 1)
                BOOST_TEST(sum.bytes_in == 0);
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()
