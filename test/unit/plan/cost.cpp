// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/cost.hpp>

#include "support/layouts.hpp"

#include <reshard/expr/algebra.hpp>
#include <reshard/plan/make_plan.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::whole_problem;

BOOST_AUTO_TEST_SUITE(plan_cost_)

namespace {

/// Rank 0 has all 8 floats; rank 0 wants 4 of them, rank 1 two, rank 2 two.
whole_problem scattered() {
    return {
        {{part("w", {8}, {{0}, {8}})}},
        {{part("w", {8}, {{0}, {4}})}, {part("w", {8}, {{4}, {2}})}, {part("w", {8}, {{6}, {2}})}}};
}

} // namespace

BOOST_AUTO_TEST_CASE(bytes_and_messages_are_counted_by_process) {
    whole_problem const problem = scattered();
    plan_cost const cost = cost_of(make_plan(problem()), 3);
    BOOST_TEST(cost.transfers == 3);
    BOOST_TEST(cost.messages == 2);
    BOOST_TEST(cost.bytes == 32);
    BOOST_TEST(cost.bytes_local == 16);
    BOOST_TEST(cost.peak_extra_bytes == 16);
    BOOST_TEST((cost.by_process[0] == process_cost{0, 16, 16, 0, 2}));
    BOOST_TEST((cost.by_process[1] == process_cost{8, 0, 0, 1, 0}));
    BOOST_TEST((cost.by_process[2] == process_cost{8, 0, 0, 1, 0}));
}

BOOST_AUTO_TEST_CASE(holders_of_one_process_send_nothing_to_each_other) {
    whole_problem const problem = scattered();
    plan_options const two{2, false}; // ranks 0 and 2 are process 0
    plan_cost const cost = cost_of(make_plan(problem(), {}, two), 2, two);
    BOOST_TEST(cost.messages == 1);
    BOOST_TEST(cost.bytes_local == 24);
    BOOST_TEST((cost.by_process[0] == process_cost{0, 8, 24, 0, 1}));
}

BOOST_AUTO_TEST_CASE(what_everybody_can_read_is_local) {
    whole_problem const problem = scattered();
    plan_options const files{3, true};
    plan_cost const cost = cost_of(make_plan(problem(), {}, files), 3, files);
    BOOST_TEST(cost.messages == 0);
    BOOST_TEST(cost.bytes_local == 32);
}

BOOST_AUTO_TEST_CASE(several_transfers_between_two_are_one_message) {
    whole_problem const problem({{part("a", {2}, {{0}, {2}}), part("b", {3}, {{0}, {3}})}},
                                {{}, {part("a", {2}, {{0}, {2}}), part("b", {3}, {{0}, {3}})}});
    plan_cost const cost = cost_of(make_plan(problem()), 2);
    BOOST_TEST(cost.transfers == 2);
    BOOST_TEST(cost.messages == 1);
    BOOST_TEST(cost.bytes == 20);
}

BOOST_AUTO_TEST_CASE(zeros_are_written_where_they_are_wanted) {
    mapping program;
    program.define("x", zeros({3}, data_type::f32));
    whole_problem const problem({{}}, {{}, {part("x", {3}, {{0}, {3}})}}, program);
    plan_cost const cost = cost_of(make_plan(problem()), 2);
    BOOST_TEST(cost.messages == 0);
    BOOST_TEST(cost.by_process[1].bytes_local == 12);
}

BOOST_AUTO_TEST_CASE(bytes_that_nobody_can_count_are_refused) {
    // 16 tensors of 2^59 bytes are 2^63 bytes.
    index_t const large = index_t{1} << 57;
    std::vector<shard_descriptor> tensors;
    for (char name = 'a'; name < 'q'; ++name)
        tensors.push_back(part(std::string(1, name), {large}, {{0}, {large}}));
    whole_problem const full_problem({tensors}, {{}, tensors});
    BOOST_CHECK_EXCEPTION(cost_of(make_plan(full_problem()), 2), error, [](error const& problem) {
        return problem.code() == errc::overflow &&
               std::string(problem.what()) ==
                   "the sum of the bytes of all transfers 8646911284551352320 and "
                   "576460752303423488 does not fit in 64 bits";
    });
    tensors.pop_back();
    whole_problem const fewer({tensors}, {{}, tensors});
    BOOST_TEST(cost_of(make_plan(fewer()), 2).bytes == 8646911284551352320);
}

BOOST_AUTO_TEST_CASE(imbalance_is_the_most_over_the_mean) {
    whole_problem const problem = scattered();
    plan_cost const cost = cost_of(make_plan(problem()), 3);
    BOOST_TEST(cost.imbalance(&process_cost::bytes_out) == 3);       // 16 of 16, of three
    BOOST_TEST(cost.imbalance(&process_cost::bytes_in) == 1.5);      // 8 of 16
    BOOST_TEST(cost.imbalance(&process_cost::messages_in) == 1.5);   // 1 of 2
    BOOST_TEST(plan_cost().imbalance(&process_cost::bytes_in) == 1); // nobody has too much
}

BOOST_AUTO_TEST_CASE(many_flows_between_two_processes_are_one_message) {
    cost_counter counter(3);
    for (int i = 0; i < 200'000; ++i)
        counter.add({static_cast<holder_t>(i % 3), 0, 5, 2});
    plan_cost const cost = std::move(counter).cost();
    BOOST_TEST(cost.transfers == 400'000);
    BOOST_TEST(cost.messages == 2);
    BOOST_TEST(cost.bytes == 2'000'000);
    BOOST_TEST(cost.bytes_local == 10 * 66'667);
}

BOOST_AUTO_TEST_CASE(staging_is_bounded) {
    index_t const large = 100'000'000;
    whole_problem const problem({{part("w", {large}, {{0}, {large}})}},
                                {{}, {part("w", {large}, {{0}, {large}})}});
    BOOST_TEST(cost_of(make_plan(problem()), 2).peak_extra_bytes == 8 * 1024 * 1024);
}

BOOST_AUTO_TEST_SUITE_END()
