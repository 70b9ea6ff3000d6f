// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/load_balance.hpp>

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(plan_load_balance)

namespace {

using numbers = std::vector<index_t>;

/// The least that the busiest vessel can carry: for each set of vessels, what only they may take,
/// divided by how many they are (Hall's condition).
double least_by_sets(std::vector<shared_load> const& loads, holder_t vessels, holder_t per_vessel,
                     bool leaving_only) {
    double most = 0;
    for (std::uint32_t set = 1; set < 1u << vessels; ++set) {
        index_t bytes = 0;
        for (shared_load const& load : loads) {
            bool const is_confined =
                std::all_of(load.senders.begin(), load.senders.end(), [&](holder_t sender) {
                    return (set >> sender / per_vessel & 1u) != 0;
                });
            if (is_confined && (load.leaves_node || !leaving_only))
                bytes += load.bytes;
        }
        most = std::max(most, static_cast<double>(bytes) / std::popcount(set));
    }
    return most;
}

/// Loads at random; with nodes, some of one node alone.
std::vector<shared_load> random_loads(std::mt19937& random, holder_t processes, holder_t per_node) {
    std::vector<shared_load> loads;
    for (std::size_t i = 1 + random() % 30; i > 0; --i) {
        bool const stays = per_node > 1 && random() % 3 == 0;
        holder_t const node = static_cast<holder_t>(random() % processes) / per_node;
        shared_load load{{}, static_cast<index_t>(random() % 10'000), !stays};
        for (holder_t p = 0; p < processes; ++p)
            if ((!stays || p / per_node == node) && random() % 3 == 0)
                load.senders.push_back(p);
        if (load.senders.empty())
            load.senders.push_back(node * per_node);
        loads.push_back(std::move(load));
    }
    return loads;
}

void check_sums(load_balance const& balance, std::vector<shared_load> const& loads) {
    index_t requested = 0, sent = 0;
    for (std::size_t i = 0; i < loads.size(); ++i) {
        numbers const& shares = balance.shares(i);
        BOOST_TEST(*std::min_element(shares.begin(), shares.end()) >= 0);
        index_t const sum = std::accumulate(shares.begin(), shares.end(), index_t{0});
        BOOST_TEST(sum == loads[i].bytes);
        requested += sum;
    }
    for (index_t const bytes : balance.sent())
        sent += bytes;
    BOOST_TEST(sent == requested);
}

} // namespace

BOOST_AUTO_TEST_CASE(what_is_poured_fills_the_lowest_first) {
    BOOST_TEST((poured({5, 1, 3}, 4) == numbers{0, 3, 1}));
    BOOST_TEST((poured({5, 1, 3}, 2) == numbers{0, 2, 0}));
    BOOST_TEST((poured({5, 1, 3}, 9) == numbers{1, 5, 3}));
    BOOST_TEST((poured({0, 0, 0}, 4) == numbers{2, 1, 1}));
    BOOST_TEST((poured({7}, 0) == numbers{0}));
}

BOOST_AUTO_TEST_CASE(what_is_dealt_stays_whole) {
    BOOST_TEST((dealt({0, 0}, 10, 3) == numbers{2, 1}));
    BOOST_TEST((dealt({25, 0}, 10, 3) == numbers{0, 3}));
    BOOST_TEST((dealt({0, 0, 0}, 0, 2) == numbers{2, 0, 0})); // nothing weighs nothing
}

BOOST_AUTO_TEST_CASE(a_sender_that_has_much_alone_sends_less_of_what_others_have_too) {
    // Process 0 alone has 30; 0, 1 and 2 have 60 together: 30 each.
    load_balance const balance({{{0}, 30, true}, {{0, 1, 2}, 60, true}}, 3, 0);
    BOOST_TEST((balance.sent() == numbers{30, 30, 30}));
    BOOST_TEST((balance.shares(1) == numbers{0, 30, 30}));
    BOOST_TEST((balance.sender() == busiest_load{30, 30}));
}

BOOST_AUTO_TEST_CASE(a_chain_of_pairs_passes_an_excess_on) {
    // 0 and 1, 1 and 2, 2 and 3 share; the first pair has all of it: 100 over two, and no more.
    std::vector<shared_load> chain{{{0, 1}, 100, true}, {{1, 2}, 40, true}, {{2, 3}, 10, true}};
    load_balance const balance(chain, 4, 0);
    BOOST_TEST(balance.sender().bytes == 50);
    BOOST_TEST(balance.sender().bound == 50);
}

BOOST_AUTO_TEST_CASE(links_come_before_senders) {
    // Nodes {0, 1} and {2, 3}. 0 and 2 have 40 for others; 1 has 20 more: 30 over each link.
    load_balance const balance({{{0, 2}, 40, true}, {{1}, 20, true}}, 4, 2);
    BOOST_TEST(balance.left()[0] == 30);
    BOOST_TEST(balance.left()[1] == 30);
    BOOST_TEST((balance.sent() == numbers{10, 20, 30, 0}));
}

BOOST_AUTO_TEST_CASE(there_are_nodes_for_all_processes) {
    constexpr holder_t most = std::numeric_limits<holder_t>::max();
    static_assert(node_count(8, 4) == 2);
    static_assert(node_count(9, 4) == 3);
    static_assert(node_count(1, most) == 1);
    static_assert(node_count(most, most - 1) == 2);
    static_assert(node_count(most, 1) == most);
}

BOOST_AUTO_TEST_CASE(the_busiest_sender_carries_what_it_must) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937 random(seed);
        holder_t const processes = 1 + static_cast<holder_t>(random() % 10);
        std::vector<shared_load> const loads = random_loads(random, processes, 1);
        load_balance const balance(loads, processes, 0);
        check_sums(balance, loads);
        double const least = least_by_sets(loads, processes, 1, false);
        BOOST_TEST(static_cast<double>(balance.sender().bytes) <= 1.002 * least + 1);
        BOOST_TEST(static_cast<double>(balance.sender().bound) <= least + 1);
    }
}

BOOST_AUTO_TEST_CASE(the_busiest_link_carries_what_it_must) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937 random(seed);
        holder_t const per_node = 2 + static_cast<holder_t>(random() % 3);
        holder_t const nodes = 1 + static_cast<holder_t>(random() % 6);
        std::vector<shared_load> const loads = random_loads(random, nodes * per_node, per_node);
        load_balance const balance(loads, nodes * per_node, per_node);
        check_sums(balance, loads);
        double const least = least_by_sets(loads, nodes, per_node, true);
        BOOST_TEST(static_cast<double>(balance.link().bytes) <= 1.025 * least + 2);
        BOOST_TEST(static_cast<double>(balance.link().bound) <= least + 1);
    }
}

BOOST_AUTO_TEST_SUITE_END()
