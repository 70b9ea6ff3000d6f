// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/analysis/simulation.hpp>

#include "support/layouts.hpp"

#include <reshard/core/error.hpp>
#include <reshard/plan/flows.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using reshard::test::part;

BOOST_AUTO_TEST_SUITE(simulation_, *boost::unit_test::tolerance(1e-6))

namespace {

using flows = std::vector<simulated_flow>;
using kind = simulation::link_kind;

/// Each rank on a separate node, with links of 100 bytes a second.
network one_rank_a_node() {
    network network;
    network.ranks_per_node = 1;
    network.copy = {10, 0, 0};
    network.link = {0, 100, 0};
    return network;
}

simulation::link link_of(simulation const& run, kind which, holder_t number) {
    for (simulation::link const& link : run.links)
        if (link.kind == which && link.number == number)
            return link;
    BOOST_TEST_REQUIRE(false, "there is no such link");
    return {};
}

void check_timeline(simulation::link const& link, std::vector<simulation::interval> const& wanted) {
    BOOST_TEST_REQUIRE(link.timeline.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        BOOST_TEST(link.timeline[i].begin == wanted[i].begin);
        BOOST_TEST(link.timeline[i].end == wanted[i].end);
        BOOST_TEST(link.timeline[i].bytes_per_second == wanted[i].bytes_per_second);
    }
}

std::vector<double> ends(flows const& all_flows, network const& over) {
    return simulate(all_flows, over).ended;
}

void check_ends(flows const& all_flows, network const& over, std::vector<double> const& wanted) {
    BOOST_TEST(ends(all_flows, over) == wanted, boost::test_tools::per_element());
}

} // namespace

BOOST_AUTO_TEST_CASE(nothing_takes_no_time) {
    simulation const run = simulate(flows{}, network());
    BOOST_TEST(run.seconds == 0.0);
    BOOST_TEST(run.least_seconds() == 0.0);
    BOOST_TEST(run.links.empty());
}

BOOST_AUTO_TEST_CASE(a_flow_alone_has_its_whole_link) {
    simulation const run = simulate(flows{{0, 1, 1000}}, one_rank_a_node());
    BOOST_TEST(run.seconds == 10.0);
    BOOST_TEST(run.least_seconds() == 10.0);
    BOOST_TEST(name(run.links[run.bounded_by]) == "the link out of node 0");
    BOOST_TEST(run.links.size() == 2u);
    check_timeline(link_of(run, kind::node_in, 1), {{0, 10, 100}});
}

// Both have 50 bytes a second until the shorter one ends at 10; the other has 500 left then.
BOOST_AUTO_TEST_CASE(two_flows_share_a_link_and_one_has_it_when_the_other_ends) {
    simulation const run = simulate(flows{{0, 1, 1000}, {0, 2, 500}}, one_rank_a_node());
    BOOST_TEST(run.ended == (std::vector<double>{15, 10}), boost::test_tools::per_element());
    BOOST_TEST(run.seconds == 15.0);
    simulation::link const out = link_of(run, kind::node_out, 0);
    BOOST_TEST(out.bytes == 1500);
    BOOST_TEST(out.busy_seconds == 15.0);
    BOOST_TEST(out.utilisation == 1.0);
    BOOST_TEST(out.least_seconds == 15.0);
    check_timeline(out, {{0, 15, 100}});
    check_timeline(link_of(run, kind::node_in, 1), {{0, 10, 50}, {10, 15, 100}});
    simulation::link const in = link_of(run, kind::node_in, 2);
    check_timeline(in, {{0, 10, 50}});
    BOOST_TEST(in.busy_seconds == 10.0);
    BOOST_TEST(in.utilisation == 1.0 / 3);
}

// Three share the link into 2, and what 0 cannot give there it gives 1.
BOOST_AUTO_TEST_CASE(what_one_cannot_use_another_has) {
    flows const all_flows{{0, 1, 1000}, {0, 2, 1000}, {3, 2, 1000}, {4, 2, 1000}};
    check_ends(all_flows, one_rank_a_node(), {15, 30, 30, 30});
    BOOST_TEST(name(simulate(all_flows, one_rank_a_node())
                        .links[simulate(all_flows, one_rank_a_node()).bounded_by]) ==
               "the link into node 2");
}

// The short one ends at 2 and frees both of its links.
BOOST_AUTO_TEST_CASE(a_flow_that_ends_frees_all_its_links) {
    check_ends({{0, 1, 1000}, {0, 2, 100}, {3, 2, 1000}}, one_rank_a_node(), {11, 2, 11});
}

BOOST_AUTO_TEST_CASE(latency_stands_before_the_first_byte) {
    network over = one_rank_a_node();
    over.link.latency_seconds = 5;
    simulation const run = simulate(flows{{0, 1, 1000}, {1, 2, 1000, {{0}}}}, over);
    BOOST_TEST(run.ended == (std::vector<double>{15, 30}), boost::test_tools::per_element());
    BOOST_TEST(run.least_seconds() == 15.0);
    check_timeline(link_of(run, kind::node_out, 0), {{5, 15, 100}});
    BOOST_TEST(link_of(run, kind::node_out, 0).utilisation == 1.0 / 3);
}

// Two flows share the way out of the rack from the third second on, at 25 each: there 0 has 75 for
// its neighbour.
BOOST_AUTO_TEST_CASE(racks_share_their_links) {
    network over = one_rank_a_node();
    over.rack = {2, 50, 3};
    flows const all_flows{{0, 2, 100}, {1, 3, 100}, {0, 1, 450}};
    check_ends(all_flows, over, {7, 7, 5});
    simulation const run = simulate(all_flows, over);
    BOOST_TEST(name(run.links[run.bounded_by]) == "the link out of rack 0");
    BOOST_TEST(run.least_seconds() == 7.0);
    BOOST_TEST(link_of(run, kind::rack_in, 1).bytes == 200);
}

BOOST_AUTO_TEST_CASE(no_bytes_take_no_time_and_no_latency) {
    network over = one_rank_a_node();
    over.link.latency_seconds = 5;
    check_ends({{0, 1, 0}}, over, {0});
    // Behind others it ends when they do, and others wait for it.
    check_ends({{0, 1, 1000}, {2, 3, 500}, {0, 0, 0, {{0}, {1}}}, {4, 5, 100, {{2}}}}, over,
               {15, 10, 15, 21});
}

BOOST_AUTO_TEST_CASE(copies_within_ranks_share_the_memory_of_the_node) {
    network over;
    over.ranks_per_node = 2;
    over.copy = {10, 15, 0};
    check_ends({{0, 0, 150}, {1, 1, 150}, {2, 2, 150}}, over, {20, 20, 15});
    over.copy = {10, 0, 1};
    check_ends({{0, 0, 150}, {1, 1, 150}}, over, {16, 16});
}

// A rank copies, gives and gets in turns.
BOOST_AUTO_TEST_CASE(a_rank_has_one_memory_for_all_that_it_does) {
    network over;
    over.ranks_per_node = 2;
    over.copy = {10, 0, 0};
    over.memory = {10, 0, 0};
    check_ends({{0, 1, 100}, {1, 0, 100}}, over, {20, 20});
    check_ends({{0, 0, 100}, {0, 1, 50}}, over, {15, 10});
    // A copy is twice as fast: while both go on, a byte of each takes 0.15 seconds.
    over.copy = {20, 0, 0};
    check_ends({{0, 0, 100}, {0, 1, 50}}, over, {10, 7.5});
    simulation const run = simulate(flows{{0, 0, 100}, {0, 1, 50}}, over);
    BOOST_TEST(name(run.links[run.bounded_by]) == "the memory of rank 0");
    BOOST_TEST(run.least_seconds() == 10.0);
}

// 4 runs of half a second beside 10 seconds of bytes; a gift takes as long of both ranks.
BOOST_AUTO_TEST_CASE(each_run_takes_time_of_the_memory_of_ranks) {
    network over;
    over.ranks_per_node = 2;
    over.copy = {10, 0, 0, 0.5};
    over.memory = {20, 0, 0, 1};
    over.link = {0, 100, 0};
    check_ends({{0, 0, 100, {}, 4}}, over, {12});
    check_ends({{0, 1, 100, {}, 4}}, over, {9});
    check_ends({{0, 0, 100}, {1, 1, 100, {}, 4}}, over, {10, 12});
    check_ends({{0, 0, 100, {}, 4}, {0, 1, 100, {}, 4}}, over, {21, 21}); // a byte of both: 0.21
    simulation const run = simulate(flows{{0, 0, 100, {}, 4}, {0, 1, 100, {}, 4}}, over);
    BOOST_TEST(run.least_seconds() == 21.0);
    BOOST_TEST(link_of(run, kind::rank_memory, 0).bytes == 200);
    // Behind a relay, as fast as its own runs let it.
    check_ends({{0, 0, 100}, {1, 1, 100, {{0, 50}}, 20}}, over, {10, 25});
    // Nothing between nodes; if only the node limits, they alone keep a rank.
    check_ends({{0, 2, 100, {}, 4}}, over, {1});
    over.copy = {0, 50, 0, 0.5};
    check_ends({{0, 0, 100, {}, 8}, {1, 1, 100}}, over, {4, 4});
    check_ends({{0, 0, 100, {}, 20}, {1, 1, 100}}, over, {10, 2.5});
}

BOOST_AUTO_TEST_CASE(a_rank_has_its_own_limit_between_nodes) {
    network over = one_rank_a_node();
    over.ranks_per_node = 2;
    over.link.rank_bytes_per_second = 40;
    simulation const run = simulate(flows{{0, 2, 400}, {1, 3, 400}, {1, 4, 400}}, over);
    BOOST_TEST(run.ended == (std::vector<double>{10, 20, 20}), boost::test_tools::per_element());
    BOOST_TEST(name(run.links[run.bounded_by]) == "the link of rank 1 out of its node");
}

// Each begins when 100 bytes have come to it, and is as fast.
BOOST_AUTO_TEST_CASE(relays_pass_on_what_has_arrived) {
    flows const chain{{0, 1, 1000}, {1, 2, 1000, {{0, 100}}}, {2, 3, 1000, {{1, 100}}}};
    check_ends(chain, one_rank_a_node(), {10, 11, 12});
    network over = one_rank_a_node();
    over.link.latency_seconds = 1;
    check_ends(chain, over, {11, 13, 15});
    // Without waiting for a chunk, as fast as the first.
    check_ends({{0, 1, 1000}, {1, 2, 1000, {{0, 0}}}}, one_rank_a_node(), {10, 10});
}

// The first has 50 bytes a second until both ends at 10, and the relay no more; it begins at 2.
BOOST_AUTO_TEST_CASE(a_relay_is_no_faster_than_what_it_passes_on) {
    check_ends({{0, 1, 500}, {0, 9, 500}, {1, 2, 500, {{0, 100}}}}, one_rank_a_node(),
               {10, 10, 11});
}

// It begins at 4, when it could be 100 bytes further, and has caught up at 6.
BOOST_AUTO_TEST_CASE(a_relay_that_begins_late_catches_up) {
    flows const all_flows{{0, 1, 500}, {0, 9, 500}, {5, 6, 400}, {1, 2, 500, {{0, 100}, {2}}}};
    check_ends(all_flows, one_rank_a_node(), {10, 10, 4, 11});
    check_timeline(link_of(simulate(all_flows, one_rank_a_node()), kind::node_out, 1),
                   {{4, 6, 100}, {6, 10, 50}, {10, 11, 100}});
}

// The link into 2 is shared: the relay has 50 bytes a second, and passes on at that rate.
BOOST_AUTO_TEST_CASE(a_slow_relay_holds_up_nobody) {
    check_ends({{0, 1, 1000}, {4, 2, 2000}, {1, 2, 1000, {{0, 100}}}}, one_rank_a_node(),
               {10, 30, 21});
}

BOOST_AUTO_TEST_CASE(a_relay_of_a_part_ends_before_the_whole) {
    check_ends({{0, 1, 1000}, {1, 2, 300, {{0, 100}}}}, one_rank_a_node(), {10, 4});
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused) {
    auto const complaint = [](flows const& all_flows, network const& over = network()) {
        try {
            simulate(all_flows, over);
        } catch (error const& problem) {
            return std::string(name(problem.code())) + ": " + problem.what();
        }
        return std::string();
    };
    BOOST_TEST(complaint({{0, 1, -5}}) == "usage: flow 0 has -5 bytes; it must be 0 or more");
    BOOST_TEST(complaint({{0, 1, 5, {}, -1}}) == "usage: flow 0 has -1 runs; it must be 0 or more");
    BOOST_TEST(complaint({{0, 1, 5, {{0, 2}}}}) ==
               "usage: flow 0 waits for 2 bytes of flow 0; a flow must wait for 0 or more bytes "
               "of an earlier flow");
    BOOST_TEST(complaint({{0, 1, 5}, {0, 1, 5, {{0, -1}}}}).starts_with("usage: flow 1 waits"));
    network wrong;
    wrong.ranks_per_node = 0;
    BOOST_TEST(complaint({}, wrong) ==
               "bad_layout: ranks_per_node is 0; a node has at least 1 rank");
    index_t const most = std::numeric_limits<index_t>::max();
    BOOST_TEST(complaint({{0, 1, most}, {0, 2, most}}).starts_with("overflow: "));
}

namespace {

/// The links of a flow by name, and the seconds that a byte takes there: written again.
std::map<std::string, double> way_of(simulated_flow const& flow, network const& over) {
    std::map<std::string, double> way;
    auto const add = [&](std::string const& link, holder_t number, double speed, double run = 0) {
        double const runs = run * static_cast<double>(flow.runs) /
                            static_cast<double>(std::max<index_t>(flow.bytes, 1));
        if (speed > 0 || runs > 0)
            way[link + std::to_string(number)] = (speed > 0 ? 1 / speed : 0) + runs;
    };
    holder_t const a = flow.source / over.ranks_per_node, b = flow.target / over.ranks_per_node;
    if (flow.source == flow.target) {
        add("rank", flow.source, over.copy.rank_bytes_per_second, over.copy.run_seconds);
        add("node", a, over.copy.node_bytes_per_second);
    } else if (a == b) {
        add("rank", flow.source, over.memory.rank_bytes_per_second, over.memory.run_seconds);
        add("rank", flow.target, over.memory.rank_bytes_per_second, over.memory.run_seconds);
        add("node", a, over.memory.node_bytes_per_second);
    } else {
        add("rank out", flow.source, over.link.rank_bytes_per_second);
        add("rank in", flow.target, over.link.rank_bytes_per_second);
        add("out", a, over.link.node_bytes_per_second);
        add("in", b, over.link.node_bytes_per_second);
        if (over.rack.nodes > 0 && a / over.rack.nodes != b / over.rack.nodes) {
            add("rack out", a / over.rack.nodes, over.rack.bytes_per_second);
            add("rack in", b / over.rack.nodes, over.rack.bytes_per_second);
        }
    }
    return way;
}

double latency_of(simulated_flow const& flow, network const& over) {
    holder_t const a = flow.source / over.ranks_per_node, b = flow.target / over.ranks_per_node;
    if (flow.source == flow.target)
        return over.copy.latency_seconds;
    if (a == b)
        return over.memory.latency_seconds;
    bool const is_far = over.rack.nodes > 0 && a / over.rack.nodes != b / over.rack.nodes;
    return over.link.latency_seconds + (is_far ? over.rack.latency_seconds : 0);
}

/// The rates of the flows that are in `moving`: the link that is full first, again and again.
std::map<std::size_t, double> fair_rates(std::vector<std::map<std::string, double>> const& ways,
                                         std::vector<std::size_t> moving) {
    std::map<std::size_t, double> rates;
    while (!moving.empty()) {
        std::map<std::string, double> free, wanted;
        for (auto const& [f, rate] : rates)
            for (auto const& [link, cost] : ways[f])
                free[link] -= rate * cost;
        for (std::size_t const f : moving)
            for (auto const& [link, cost] : ways[f])
                wanted[link] += cost;
        std::string first;
        double least = std::numeric_limits<double>::infinity();
        for (auto const& [link, sum] : wanted)
            if ((1 + free[link]) / sum < least) {
                least = (1 + free[link]) / sum;
                first = link;
            }
        erase_if(moving, [&](std::size_t f) {
            return ways[f].contains(first) && (rates[f] = least, true);
        });
    }
    return rates;
}

/// When flows end that wait for nothing, one by one.
std::vector<double> plain_ends(flows const& all_flows, network const& over) {
    std::vector<std::map<std::string, double>> ways;
    std::vector<double> left, end(all_flows.size(), 0);
    for (simulated_flow const& flow : all_flows) {
        ways.push_back(way_of(flow, over));
        left.push_back(static_cast<double>(flow.bytes));
    }
    for (double now = 0;;) {
        std::vector<std::size_t> moving;
        double step = std::numeric_limits<double>::infinity();
        for (std::size_t f = 0; f < all_flows.size(); ++f)
            if (double const start = latency_of(all_flows[f], over); left[f] > 0 && start > now)
                step = std::min(step, start - now);
            else if (left[f] > 0)
                moving.push_back(f);
        auto const rates = fair_rates(ways, moving);
        for (auto const& [f, rate] : rates)
            step = std::min(step, left[f] / rate);
        if (std::isinf(step))
            return end;
        now += step;
        for (auto const& [f, rate] : rates)
            if ((left[f] -= rate * step) < 1e-9 * static_cast<double>(all_flows[f].bytes)) {
                left[f] = 0;
                end[f] = now;
            }
    }
}

/// A whole number below `most`.
unsigned below(std::mt19937& random, std::size_t most) {
    return static_cast<unsigned>(random() % most);
}

network random_network(std::mt19937& random) {
    auto const any = [&](unsigned most) { return 1.0 + below(random, most); };
    network over;
    over.ranks_per_node = 1 + below(random, 3);
    over.copy = {any(20), random() % 2 ? any(40) : 0, 0.5 * any(2), 0.5 * any(3) - 0.5};
    over.memory = {random() % 2 ? any(20) : 0, any(40), any(3) - 1, 0.25 * any(3) - 0.25};
    over.link = {random() % 2 ? any(20) : 0, any(40), any(4)};
    over.rack = {below(random, 3), any(40), any(2)};
    return over;
}

flows random_flows(std::mt19937& random, std::size_t count, unsigned ranks) {
    flows all_flows;
    bool const are_identical = random() % 2;
    for (std::size_t i = 0; i < count; ++i)
        all_flows.push_back({below(random, ranks),
                             below(random, ranks),
                             are_identical ? 60 : index_t{below(random, 200)},
                             {},
                             random() % 3 ? 0 : index_t{below(random, 10)}});
    return all_flows;
}

/// Some of them wait for others.
void add_waits(std::mt19937& random, flows& all_flows) {
    for (std::size_t i = 1; i < all_flows.size(); ++i)
        while (random() % 2)
            all_flows[i].waits_for.push_back(
                {below(random, i),
                 random() % 2 ? index_t{below(random, 60)} : simulated_flow::awaited::all});
}

/// Whatever happens: no earlier than the bound, no later than one by one, and every byte arrives.
void check_laws(flows const& all_flows, network const& over) {
    simulation const run = simulate(all_flows, over);
    double sum = 0;
    for (simulated_flow const& flow : all_flows) {
        if (flow.bytes == 0)
            continue;
        double slowest = 0;
        for (auto const& [link, cost] : way_of(flow, over))
            slowest = std::max(slowest, cost);
        sum += latency_of(flow, over) + static_cast<double>(flow.bytes) * slowest;
    }
    BOOST_TEST(run.least_seconds() <= run.seconds * (1 + 1e-6));
    BOOST_TEST(run.seconds <= sum * (1 + 1e-6));
    for (simulation::link const& link : run.links) {
        double bytes = 0, busy = 0;
        for (simulation::interval const& interval : link.timeline) {
            bytes += interval.bytes_per_second * (interval.end - interval.begin);
            busy += interval.end - interval.begin;
        }
        BOOST_TEST(bytes == static_cast<double>(link.bytes));
        BOOST_TEST(busy == link.busy_seconds);
        BOOST_TEST(link.utilisation <= 1 + 1e-6);
        BOOST_TEST(link.timeline.size() <= simulation::most_intervals);
    }
}

/// The same flows in another order, with the old position of each.
std::pair<flows, std::vector<std::size_t>> shuffled(std::mt19937& random, flows const& all_flows) {
    // Waiting flows stay after the others: any order by depth will do.
    std::vector<std::size_t> order(all_flows.size()), depth(all_flows.size(), 0),
        positions(all_flows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = 0; i < all_flows.size(); ++i)
        for (auto const& element : all_flows[i].waits_for)
            depth[i] = std::max(depth[i], depth[element.flow] + 1);
    std::shuffle(order.begin(), order.end(), random);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return depth[i]; });
    flows other_flows;
    for (std::size_t i = 0; i < order.size(); ++i) {
        positions[order[i]] = i;
        other_flows.push_back(all_flows[order[i]]);
        for (auto& element : other_flows.back().waits_for)
            element.flow = positions[element.flow];
        std::shuffle(other_flows.back().waits_for.begin(), other_flows.back().waits_for.end(),
                     random);
    }
    return {other_flows, order};
}

} // namespace

BOOST_AUTO_TEST_CASE(random_flows_end_when_a_plain_simulator_says) {
    std::mt19937 random(7);
    for (int i = 0; i < 300; ++i) {
        network const over = random_network(random);
        flows const all_flows = random_flows(random, 1 + below(random, 40), 1 + below(random, 12));
        check_ends(all_flows, over, plain_ends(all_flows, over));
    }
}

BOOST_AUTO_TEST_CASE(flows_keep_the_laws_and_their_order_is_no_matter) {
    std::mt19937 random(8);
    for (int i = 0; i < 300; ++i) {
        network const over = random_network(random);
        flows all_flows = random_flows(random, 1 + below(random, 40), 1 + below(random, 12));
        add_waits(random, all_flows);
        check_laws(all_flows, over);
        simulation const run = simulate(all_flows, over);
        auto const [others, order] = shuffled(random, all_flows);
        simulation const simulation = simulate(others, over);
        BOOST_TEST((run.links == simulation.links)); // to the last bit
        BOOST_TEST(run.seconds == simulation.seconds, boost::test_tools::tolerance(0.0));
        for (std::size_t k = 0; k < order.size(); ++k)
            BOOST_TEST(simulation.ended[k] == run.ended[order[k]],
                       boost::test_tools::tolerance(0.0));
    }
}

// A number that is not taken one by one any more.
BOOST_AUTO_TEST_CASE(many_different_flows_take_nearly_as_long) {
    std::mt19937 random(9);
    network over = one_rank_a_node();
    over.ranks_per_node = 4;
    flows all_flows;
    for (int i = 0; i < 1500; ++i)
        all_flows.push_back(
            {below(random, 16), below(random, 16), 1 + index_t{below(random, 100'000)}});
    check_laws(all_flows, over);
    simulation const run = simulate(all_flows, over);
    BOOST_TEST(run.seconds <= run.least_seconds() * 1.02); // the links of a node are always in use
}

// Rank 0 has four rows of three floats; each of two ranks wants two of them, of two tensors.
BOOST_AUTO_TEST_CASE(a_plan_is_a_flow_for_each_pair) {
    std::vector<std::vector<shard_descriptor>> source(1), target(2);
    for (std::string const key : {"a", "b"}) {
        source[0].push_back(part(key, {4, 3}, {{0, 0}, {4, 3}}));
        target[0].push_back(part(key, {4, 3}, {{0, 0}, {2, 3}}));
        target[1].push_back(part(key, {4, 3}, {{2, 0}, {2, 3}}));
    }
    test::whole_problem const whole_problem(source, target);
    detail::plan_problem const problem = whole_problem();
    simulation const run = simulate(plan_flows(problem), one_rank_a_node());
    BOOST_TEST(run.ended == (std::vector<double>{4.8, 0.48}), boost::test_tools::per_element());
    BOOST_TEST(link_of(run, kind::rank_memory, 0).bytes == 48);
    BOOST_TEST(link_of(run, kind::node_out, 0).bytes == 48);
    BOOST_TEST(run.links.size() == 3u);
}

// Two rows of six floats a rank become three columns a rank, of two tensors: each rank keeps, gives
// and gets 2 * 24 bytes in 2 * 2 runs. The former takes it 4.8 + 4 * 0.5 seconds, each of the
// others 4.8 + 4.
BOOST_AUTO_TEST_CASE(a_plan_knows_its_runs) {
    std::vector<std::vector<shard_descriptor>> rows(2), columns(2);
    for (std::string const key : {"a", "b"})
        for (index_t rank = 0; rank < 2; ++rank) {
            auto const r = static_cast<std::size_t>(rank);
            rows[r].push_back(part(key, {4, 6}, {{2 * rank, 0}, {2, 6}}));
            columns[r].push_back(part(key, {4, 6}, {{0, 3 * rank}, {4, 3}}));
        }
    network over;
    over.ranks_per_node = 2;
    over.copy = {10, 0, 0, 0.5};
    over.memory = {10, 0, 0, 1};
    test::whole_problem const to_columns(rows, columns), back(columns, rows), same(rows, rows);
    for (test::whole_problem const* const whole_problem : {&to_columns, &back}) {
        detail::plan_problem const problem = (*whole_problem)();
        BOOST_TEST(simulate(plan_flows(problem), over).seconds == 6.8 + 2 * 8.8);
    }
    detail::plan_problem const problem = same(); // 2 * 48 bytes, each tensor in one run
    BOOST_TEST(simulate(plan_flows(problem), over).seconds == 9.6 + 2 * 0.5);
    over.copy.run_seconds = over.memory.run_seconds = 0;
    detail::plan_problem const free = to_columns();
    BOOST_TEST(simulate(plan_flows(free), over).seconds == 3 * 4.8);
}

BOOST_AUTO_TEST_SUITE_END()
