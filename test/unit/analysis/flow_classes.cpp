// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/analysis/impl/flow_classes.ipp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(flow_classes_)

namespace {

/// Each rank on a separate node; links limit nothing but the node.
network one_rank_a_node() {
    network network;
    network.ranks_per_node = 1;
    network.link = {0, 100, 0};
    return network;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_ragged_list_has_lists_of_different_lengths) {
    ragged_list<int> const list(3, {{0, 5}, {0, 6}, {2, 7}});
    BOOST_TEST(list[0].size() == 2u);
    BOOST_TEST(list[0][1] == 6);
    BOOST_TEST(list[1].empty());
    BOOST_TEST(list[2][0] == 7);
}

BOOST_AUTO_TEST_CASE(all_to_all_is_one_class) {
    std::vector<simulated_flow> flows;
    for (holder_t source = 0; source < 4; ++source)
        for (holder_t target = 4; target < 8; ++target)
            flows.push_back({source, target, 10});
    flow_classes const classes = classify(flows, one_rank_a_node());
    BOOST_TEST(classes.flows.size() == 1u);
    BOOST_TEST(classes.flows[0].bytes == 10);
    BOOST_TEST(classes.links.size() == 8u); // four out, four in
    BOOST_TEST(classes.link_class_count == 2u);
    BOOST_TEST(classes.links_of[0].size() == 2u);
    for (std::size_t link = 0; link < 2; ++link) {
        BOOST_TEST(classes.flows_of[link].size() == 1u);
        BOOST_TEST(classes.flows_of[link][0].count == 4u);
        BOOST_TEST(classes.flows_of[link][0].seconds_per_byte == 0.01);
    }
}

// 0 gives 1 and 2, and 3 gives 2: the flow between 0 and 2 shares both of its links, each of the
// others one of them.
BOOST_AUTO_TEST_CASE(who_shares_more_is_of_another_class) {
    std::vector<simulated_flow> const flows{{0, 1, 10}, {0, 2, 10}, {3, 2, 10}};
    flow_classes const classes = classify(flows, one_rank_a_node());
    std::set<std::uint32_t> const different(classes.class_of_flow.begin(),
                                            classes.class_of_flow.end());
    BOOST_TEST(different.size() == 3u);
    BOOST_TEST(classes.flows.size() == 3u);
    BOOST_TEST(classes.link_class_count == 4u);
}

BOOST_AUTO_TEST_CASE(other_bytes_are_another_class_and_so_is_who_shares_with_them) {
    std::vector<simulated_flow> const flows{{0, 1, 10}, {2, 3, 10}, {4, 5, 10}, {4, 6, 11}};
    flow_classes const classes = classify(flows, one_rank_a_node());
    BOOST_TEST(classes.class_of_flow[0] == classes.class_of_flow[1]);
    BOOST_TEST(classes.class_of_flow[2] != classes.class_of_flow[0]);
    BOOST_TEST(classes.flows.size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_copy_is_no_gift_where_only_the_node_limits) {
    network network;
    network.ranks_per_node = 2;
    network.copy = {0, 100, 0};
    network.memory = {0, 50, 0};
    flow_classes const classes =
        classify(std::vector<simulated_flow>{{0, 0, 10}, {1, 0, 10}}, network);
    BOOST_TEST(classes.flows.size() == 2u);
    BOOST_TEST(classes.link_class_count == 1u);
    BOOST_TEST(classes.flows_of[0].size() == 2u);
}

// The four runs of the second take a second, as its ten bytes do; the third does not differ if runs
// are free.
BOOST_AUTO_TEST_CASE(other_runs_are_another_class_where_they_cost_anything) {
    std::vector<simulated_flow> const flows{{0, 0, 10}, {1, 1, 10, {}, 4}, {2, 2, 10, {}, 8}};
    network network = one_rank_a_node();
    network.copy = {10, 0, 0, 0.25};
    flow_classes const classes = classify(flows, network);
    BOOST_TEST(classes.flows.size() == 3u);
    BOOST_TEST(classes.links_of[classes.class_of_flow[1]][0].seconds_per_byte == 0.2);
    network.copy.run_seconds = 0;
    BOOST_TEST(classify(flows, network).flows.size() == 1u);
}

BOOST_AUTO_TEST_CASE(classes_stand_behind_those_that_they_wait_for) {
    std::vector<simulated_flow> flows;
    for (holder_t i = 0; i < 6; ++i) {
        flows.push_back({i, i + 1, 10});
        if (i > 0)
            flows.back().waits_for.push_back({i - 1, 5});
    }
    flow_classes const classes = classify(flows, one_rank_a_node());
    BOOST_TEST(classes.flows.size() == 6u);
    for (std::size_t i = 1; i < 6; ++i) {
        std::uint32_t const c = classes.class_of_flow[i], before = classes.class_of_flow[i - 1];
        BOOST_TEST(before < c);
        BOOST_TEST(classes.waits[c].size() == 1u);
        BOOST_TEST(classes.waits[c][0].flow == before);
        BOOST_TEST(classes.waits[c][0].bytes_ahead == 5);
    }
}

BOOST_AUTO_TEST_CASE(no_bytes_pass_no_link) {
    flow_classes const classes =
        classify(std::vector<simulated_flow>{{0, 1, 0}}, one_rank_a_node());
    BOOST_TEST(classes.flows.size() == 1u);
    BOOST_TEST(classes.links.empty());
}

BOOST_AUTO_TEST_SUITE_END()
