// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/between_nodes.hpp>

#include "support/layouts.hpp"

#include <reshard/plan/flows.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/verify.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::whole_problem;

BOOST_AUTO_TEST_SUITE(plan_between_nodes)

namespace {

using shards = std::vector<shard_descriptor>;

/// Chunks of 1 MiB.
shards vector_of(std::string const& key, index_t chunks) {
    index_t const elements = chunks << 18;
    return {part(key, {elements}, {{0}, {elements}})};
}

/// A chunk a second between nodes, and so many in the memory of a rank; 0: any number.
network over(double memory) {
    double const chunk = 1 << 20;
    return {.ranks_per_node = 1,
            .copy = {0, 0, 0},
            .memory = {memory * chunk, 0, 0},
            .link = {0, chunk, 0},
            .rack = {}};
}

/// Who has vectors and who wants them, by rank, and the seconds of the busiest link. The last rank
/// to which a chunk is passed on has it a second after the one before.
struct gain_case {
    char const* text;
    std::vector<shards> have;
    std::vector<shards> want;
    holder_t per_node = 1;
    double memory = 0;
    double direct = 0;
    double relayed = 0;
    bool is_worth_it = false;
};

shards const a = vector_of("a", 64);

shards a_and_b(index_t chunks_of_b) {
    shards all = a;
    all.push_back(vector_of("b", chunks_of_b)[0]);
    return all;
}

std::vector<gain_case> const cases{
    {"four want it: it leaves its holder once", {a}, {{}, a, a, a, a}, 1, 0, 256, 67, true},
    {"two hold it and two want it", {a, a}, {{}, {}, a, a}, 1, 0, 64, 65},
    {"two hold it and three want it", {a, a}, {{}, {}, a, a, a}, 1, 0, 96, 66, true},
    {"one wants it", {a}, {{}, a}, 1, 0, 64, 64},
    {"who has it wants it", {a}, {a}, 1, 0, 0, 0},
    {"one chunk is there as soon without",
     {vector_of("a", 1)},
     {{}, vector_of("a", 1), vector_of("a", 1)},
     1,
     0,
     2,
     2},
    // Of the second node's ranks each gets a half from outside, gives it, and gets the other half.
    {"two on a node, fast memory", {a}, {{}, {}, a, a}, 2, 4, 128, 64.25, true},
    {"two on a node, slow memory", {a}, {{}, {}, a, a}, 2, 0.25, 128, 260},
    {"a rank of the first node gets it there", {a}, {a, a, a, a}, 2, 4, 128, 64.25, true},
    {"7 % less", {a_and_b(6)}, {{}, a_and_b(6), vector_of("b", 6)}, 1, 0, 76, 71, true},
    {"4 % less", {a_and_b(4)}, {{}, a_and_b(4), vector_of("b", 4)}, 1, 0, 72, 69},
};

} // namespace

BOOST_AUTO_TEST_CASE(the_busiest_link_says_whether_relays_are_worth_it) {
    for (gain_case const& row : cases) {
        BOOST_TEST_CONTEXT(row.text) {
            whole_problem const problem(row.have, row.want);
            plan_problem const planned = problem();
            plan_options options{.processes_per_node = row.per_node};
            relay_gain const gain = gain_of_relays(planned, options, over(row.memory));
            BOOST_TEST(gain.direct == row.direct, boost::test_tools::tolerance(1e-12));
            BOOST_TEST(gain.relayed == row.relayed, boost::test_tools::tolerance(1e-12));
            BOOST_TEST(gain.is_worth_it() == row.is_worth_it);
            options.between_nodes = relays(over(row.memory));
            plan const chosen = make_plan(planned, {}, options);
            options.between_nodes = row.is_worth_it ? all_relays() : balanced_senders();
            BOOST_TEST((chosen == make_plan(planned, {}, options)));
            BOOST_TEST(!chosen.relays.empty() == row.is_worth_it);
            BOOST_TEST(!verify(chosen, planned));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_rank_that_plans_for_itself_chooses_as_all_do) {
    for (gain_case const& row : cases) {
        whole_problem const problem(row.have, row.want);
        plan_problem const planned = problem();
        plan_options const options{.processes_per_node = row.per_node,
                                   .between_nodes = relays(over(row.memory))};
        for (holder_t rank = 0; rank < row.want.size(); ++rank) {
            holder_set const me({rank});
            plan const own = make_plan(planned, {me, me}, options);
            BOOST_TEST((own.relays.empty() || row.is_worth_it), row.text);
            BOOST_TEST(!verify(own, planned, me), row.text);
        }
    }
}

BOOST_AUTO_TEST_CASE(flows_say_which_it_is) {
    for (bool const is_worth_it : {true, false}) {
        whole_problem const problem({a}, is_worth_it ? std::vector<shards>{{}, a, a}
                                                     : std::vector<shards>{{}, a});
        plan_problem const planned = problem();
        plan_flows const flows(planned, {.between_nodes = relays()});
        BOOST_TEST(flows.options().between_nodes.has_relays() == is_worth_it);
        BOOST_TEST((cost_of(flows, 3).relays > 0) == is_worth_it);
    }
}

BOOST_AUTO_TEST_SUITE_END()
