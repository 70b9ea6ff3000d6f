// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/node_transfers.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/make_plan.hpp>

#include "support/planned_scenario.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <reshard/core/vector.hpp>
#include <string>
#include <utility>

using namespace reshard;
using namespace reshard::detail;

namespace {

using numbers = reshard::vector<std::uint32_t>;

/// One element each: from 1 to itself, from 0 to 1, from 1 to 2, zeros for 1, from 1 to 0, from 1 to 2.
plan six_transfers() {
    plan plan;
    plan.source_dtypes = {data_type::f32};
    plan.target_dtypes = {data_type::f32};
    plan.pattern_of = {0};
    plan.chains = {{}};
    plan.patterns.emplace_back(1u);
    plan.patterns[0].push_back({permutation::identity(1), {0}, {0}, {1}});
    for (auto const& [source, target] : reshard::vector<std::pair<holder_t, holder_t>>{
             {1, 1}, {0, 1}, {1, 2}, {no_holder, 1}, {1, 0}, {1, 2}})
        plan.transfers.push_back({source, target, source == no_holder ? zero_source : 0, 0});
    return plan;
}

} // namespace

BOOST_AUTO_TEST_SUITE(mpi_sorted_transfers)

BOOST_AUTO_TEST_CASE(each_transfer_is_with_its_peer_in_order) {
    auto const sorted = detail::sort_by_peer(six_transfers(), 1, 4);
    BOOST_TEST((sorted.local == numbers{0, 3}));
    BOOST_TEST((sorted.from == reshard::vector<numbers>{{1}, {}, {}, {}}));
    BOOST_TEST((sorted.to == reshard::vector<numbers>{{4}, {}, {2, 5}, {}}));
}

BOOST_AUTO_TEST_CASE(the_nearest_peer_comes_first) {
    plan const plan = six_transfers();
    auto const sorted = detail::sort_by_peer(plan, 1, 4);
    auto const lanes = detail::rotated_lanes(plan, sorted.to, {}, {1, 1});
    BOOST_TEST(lanes.size() == 2u);
    BOOST_TEST(lanes[0].peer == 2);
    BOOST_TEST(lanes[1].peer == 0);
    BOOST_TEST(detail::rotated_lanes(plan, sorted.to, {}, {1, -1})[0].peer == 0);
}

BOOST_AUTO_TEST_CASE(bytes_and_messages_are_counted) {
    plan const plan = six_transfers();
    BOOST_TEST(
        (detail::cost_of(plan, detail::sort_by_peer(plan, 1, 4)) == process_cost{4, 12, 8, 1, 2}));
}

namespace {

/// The chunks between two ranks in one direction: the bytes of each, and its turn.
reshard::vector<std::pair<std::size_t, index_t>> chunks_with(int peer,
                                                             reshard::vector<lane> const& lanes) {
    std::size_t longest = 0;
    for (lane const& lane : lanes)
        longest = std::max(longest, lane.first_turn + lane.chunks.size());
    reshard::vector<std::pair<std::size_t, index_t>> chunks;
    for (std::size_t turn = 0; turn < longest; ++turn)
        for (lane const& lane : lanes)
            if (lane.peer == peer && turn >= lane.first_turn &&
                turn - lane.first_turn < lane.chunks.size())
                chunks.emplace_back(turn, lane.chunks[turn - lane.first_turn].bytes);
    return chunks;
}

} // namespace

BOOST_AUTO_TEST_CASE(sender_and_receiver_have_the_same_chunks_in_the_same_turns) {
    // Ranks in pairs are near; chunks of at most 16, 4 and 8 bytes.
    auto const order_of = [](int rank, int step, reshard::vector<int> const& pair) {
        return detail::lane_order{rank, step, {16, 4, 8, pair}};
    };
    test::for_each_program(test::trials(300), [&](test::planned const& planned) {
        int const ranks =
            static_cast<int>(std::max(planned.source.holders, planned.target.holders));
        for (holder_t const per_node : {0u, 2u, 3u}) {
            reshard::vector<reshard::vector<lane>> sends, receives;
            for (int rank = 0; rank < ranks; ++rank) {
                holder_set const me({static_cast<holder_t>(rank)});
                reshard::vector<int> const pair{rank / 2 * 2, rank / 2 * 2 + 1};
                plan const plan = make_plan(
                    planned.problem, {me, me},
                    {.processes_per_node = per_node, .between_nodes = detail::all_relays()});
                auto const sorted = detail::sort_by_peer(plan, rank, ranks);
                sends.push_back(
                    rotated_lanes(plan, sorted.to, sorted.relays_to, order_of(rank, 1, pair)));
                receives.push_back(
                    rotated_lanes(plan, sorted.from, sorted.relays_from, order_of(rank, -1, pair)));
                link_relays(plan, sends.back(), receives.back()); // or it would throw
            }
            for (int from = 0; from < ranks; ++from)
                for (int to = 0; to < ranks; ++to)
                    BOOST_TEST((chunks_with(to, sends[static_cast<std::size_t>(from)]) ==
                                chunks_with(from, receives[static_cast<std::size_t>(to)])));
        }
    });
}

BOOST_AUTO_TEST_CASE(chunks_that_are_passed_on_wait_for_those_that_bring_them) {
    auto const of = [](std::uint32_t number) {
        return chunk{{{number, packet::all_of_it, 4}}, {}, 4};
    };
    plan plan;
    plan.relays = {{3, 0, 1, 0, 0}, {4, 0, 1, 0, 1}, {5, 1, 1, 0, 2}, {6, 1, 1, 0, 2}};
    // Of two trees; the second one goes on to two ranks.
    reshard::vector<lane> receives{{3, {of(8)}}, {2, {of(0), of(1)}, 0, 0}, {1, {of(2)}, 4, 1}};
    reshard::vector<lane> sends{
        {4, {of(3), of(4)}, 1, 0}, {5, {of(9)}, 0, 7}, {6, {of(5)}, 5, 1}, {7, {of(6)}, 5, 1}};
    BOOST_TEST(link_relays(plan, sends, receives) == 3u);
    BOOST_TEST(receives[0].first_relayed == lane::not_relayed);
    BOOST_TEST(receives[1].first_relayed == 0u);
    BOOST_TEST(receives[2].first_relayed == 2u);
    BOOST_TEST(sends[0].first_relayed == 0u);
    BOOST_TEST(sends[1].first_relayed == lane::not_relayed); // this rank is the source
    BOOST_TEST(sends[2].first_relayed == 2u);
    BOOST_TEST(sends[3].first_relayed == 2u);
    auto const refused = [&](reshard::vector<lane> from, std::string const& text) {
        BOOST_CHECK_EXCEPTION(link_relays(plan, sends, from), error, [&](error const& problem) {
            return problem.code() == errc::bad_layout &&
                   std::string(problem.what()).find(text) != std::string::npos;
        });
    };
    refused({{2, {of(0)}, 0, 0}}, "this rank passes 2 chunks on to rank 4, but receives 1 of them");
    refused({}, "this rank passes 2 chunks on to rank 4, but receives 0 of them");
    refused({{2, {of(1), of(0)}, 0, 0}}, "that it does not receive");
    plan.relays[0].input = relay::no_input;
    refused({{2, {of(0), of(1)}, 0, 0}}, "that it does not receive");
}

BOOST_AUTO_TEST_SUITE_END()
