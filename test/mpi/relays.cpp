// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/rounds.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/plan/between_nodes.hpp>

#include "support/agreed_error.hpp"
#include "support/rank_tensors.hpp"
#include "support/ranks_per_node.hpp"

#include <boost/mpi/collectives/all_gather.hpp>
#include <boost/mpi/communicator.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(mpi_relays)

namespace {

/// A tensor of one rank that all others want.
struct one_to_all {
    static constexpr int source = 1;

    one_to_all(boost::mpi::communicator const& ranks, index_t count)
        : elements(static_cast<std::size_t>(count)), shape{count} {
        shard_descriptor const shard{"w", data_type::f32, shape, {{0}, shape}, {}};
        tensor_view const view{elements.data(), data_type::f32, shape, {1}};
        bool const gives = ranks.rank() == source % ranks.size();
        if (gives)
            std::iota(elements.begin(), elements.end(), 0.0F);
        if (gives)
            have.add(shard, view);
        else
            want.add(shard, view);
    }

    std::vector<float> elements;
    index_vector shape;
    const_state_dict have;
    state_dict want;
};

/// By rank.
std::vector<index_t> of_all(boost::mpi::communicator const& world, index_t own) {
    std::vector<index_t> values;
    boost::mpi::all_gather(world, own, values);
    return values;
}

/// `count` elements, held by rank 0, go to the ranks that want them, and each rank is a node.
void check_one_to(index_t count, std::vector<std::vector<shard_descriptor>> const& wanted,
                  index_t bytes_relayed) {
    boost::mpi::communicator const world;
    test::rank_tensors have(layout_of({{{"a", data_type::f32, {count}, {{0}, {count}}}}}),
                            world.rank());
    test::rank_tensors want(layout_of(wanted), world.rank());
    have.fill();
    job moving = prepare(world, have.views(), want.views(),
                         {.processes_per_node = 1,
                          .between_nodes = detail::all_relays(),
                          .deadline = std::chrono::seconds(60)});
    run(moving);
    BOOST_TEST(want.wrong_elements() == 0u);
    auto const elements = of_all(world, moving.cost().bytes_relayed);
    BOOST_TEST(std::accumulate(elements.begin(), elements.end(), index_t{0}) == bytes_relayed);
}

/// Elements that all other ranks want from one go from one to the next, twice.
process_cost check_chain(node_exchange exchange) {
    boost::mpi::communicator const world;
    // Five chunks and a rest: in a chain, for there are fewer ranks than 5 + 2 * 2.
    index_t const count = (index_t{5} << 18) + 7;
    one_to_all one_to_all(world, count);
    job moving = prepare(world, one_to_all.have, one_to_all.want,
                         {.processes_per_node = 1,
                          .between_nodes = detail::all_relays(),
                          .on_node = exchange,
                          .deadline = std::chrono::seconds(60)});
    for (int i = 0; i < 2; ++i) {
        if (world.rank() != one_to_all::source % world.size())
            std::fill(one_to_all.elements.begin(), one_to_all.elements.end(), -1.0F);
        run(moving);
        std::vector<float> expected(one_to_all.elements.size());
        std::iota(expected.begin(), expected.end(), 0.0F);
        BOOST_TEST((one_to_all.elements == expected));
    }
    index_t const bytes = world.size() > 1 ? 4 * count : 0;
    std::vector<index_t> out(static_cast<std::size_t>(world.size()), bytes), relayed = out;
    std::size_t const source = static_cast<std::size_t>(one_to_all::source % world.size());
    std::size_t const last =
        (source + out.size() - 1) % out.size(); // it comes round to the one before
    relayed[source] = 0;
    if (world.size() > 1)
        out[last] = relayed[last] = 0;
    process_cost const cost = moving.cost();
    BOOST_TEST(of_all(world, cost.bytes_out + cost.bytes_node_out) == out,
               boost::test_tools::per_element());
    BOOST_TEST(of_all(world, cost.bytes_relayed) == relayed, boost::test_tools::per_element());
    return cost;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_all_want_leaves_its_source_once) {
    BOOST_TEST(check_chain(node_exchange::messages).bytes_node_out == 0);
}

BOOST_AUTO_TEST_CASE(within_a_node_it_is_passed_on_through_rings) {
    process_cost const cost = check_chain(node_exchange::rings);
    if (!std::getenv("RESHARD_RANKS_PER_NODE")) // all ranks are on one
        BOOST_TEST(cost.bytes_out == 0);
}

BOOST_AUTO_TEST_CASE(between_nodes_messages_bring_what_rings_pass_on_and_the_reverse) {
    // The last node may have one rank, and no ring.
    for (char const* const per_node : {"2", "3"}) {
        test::ranks_per_node_variable const variable(per_node);
        check_chain(node_exchange::rings);
    }
}

BOOST_AUTO_TEST_CASE(on_the_node_of_the_source_nothing_is_passed_on) {
    boost::mpi::communicator const world;
    one_to_all one_to_all(world, 1000);
    job moving = prepare(world, one_to_all.have, one_to_all.want,
                         {.processes_per_node = static_cast<holder_t>(world.size()),
                          .between_nodes = detail::all_relays(),
                          .on_node = node_exchange::messages});
    run(moving);
    BOOST_TEST(moving.cost().bytes_relayed == 0);
    if (world.rank() == one_to_all::source % world.size())
        BOOST_TEST(moving.cost().bytes_out == 4000 * (world.size() - 1));
}

BOOST_AUTO_TEST_CASE(what_several_ranks_of_a_node_want_enters_it_in_stripes) {
    boost::mpi::communicator const world;
    index_t const rows = 1200, columns = 333;
    shard_descriptor const matrix{"a", data_type::f32, {rows, columns}, {{0, 0}, {rows, columns}}};
    std::vector<std::vector<shard_descriptor>> const have{{matrix}};
    for (holder_t const per_node : {2u, 3u}) {
        std::vector<std::vector<shard_descriptor>> want(per_node); // none on the source's node
        want.resize(std::max<std::size_t>(want.size(), static_cast<std::size_t>(world.size())),
                    {matrix});
        for (node_exchange const exchange : {node_exchange::messages, node_exchange::rings}) {
            test::ranks_per_node_variable const variable(std::to_string(per_node).c_str());
            test::rank_tensors held(layout_of(have), world.rank());
            test::rank_tensors wanted(layout_of(want), world.rank());
            held.fill();
            job moving = prepare(world, held.views(), wanted.views(),
                                 {.processes_per_node = per_node,
                                  .between_nodes = detail::all_relays(),
                                  .on_node = exchange,
                                  .deadline = std::chrono::seconds(60)});
            run(moving);
            BOOST_TEST(wanted.wrong_elements() == 0u);
            // The first node with two or more that want it: each gets less than all from outside.
            index_t const far = of_all(
                world, moving.cost().bytes_in)[per_node % static_cast<holder_t>(world.size())];
            index_t const all = 4 * rows * columns;
            if (exchange == node_exchange::rings && world.size() > static_cast<int>(per_node) + 1)
                BOOST_TEST(far < all);
        }
    }
}

BOOST_AUTO_TEST_CASE(boxes_that_begin_at_one_element_go_by_one_tree) {
    // Two chunks and four; every other rank has them in another order.
    index_t const count = index_t{1} << 20;
    shard_descriptor const half{"a", data_type::f32, {count}, {{0}, {count / 2}}};
    shard_descriptor const shard{"a", data_type::f32, {count}, {{0}, {count}}};
    std::vector<std::vector<shard_descriptor>> wanted{{}};
    for (int rank = 1; rank < boost::mpi::communicator().size(); ++rank)
        wanted.push_back(rank % 2 == 0 ? std::vector{half, shard} : std::vector{shard, half});
    check_one_to(count, wanted, 6 * count * std::max(0, static_cast<int>(wanted.size()) - 2));
}

BOOST_AUTO_TEST_CASE(a_block_of_many_is_not_passed_on_with_the_shard_that_is_one) {
    // The last rank wants elements 0, 1, 4, 5, and all others 0, 1.
    int const size = boost::mpi::communicator().size();
    if (size < 4)
        return; // one receiver is not a tree
    std::vector<std::vector<shard_descriptor>> wanted{{}};
    for (int rank = 1; rank + 1 < size; ++rank)
        wanted.push_back({{"a", data_type::f32, {8}, {{0}, {2}}}});
    wanted.push_back({{"a", data_type::f32, {8}, {{0}, {6}}, {}, {{0, 2, 4}}}});
    check_one_to(8, wanted, 8 * (size - 3));
}

BOOST_AUTO_TEST_CASE(within_one_node_nothing_is_passed_on) {
    boost::mpi::communicator const world;
    if (std::getenv("RESHARD_RANKS_PER_NODE"))
        return; // there are several
    one_to_all one_to_all(world, 1000);
    job moving = prepare(world, one_to_all.have, one_to_all.want,
                         {.between_nodes = detail::all_relays(), .on_node = node_exchange::rings});
    run(moving);
    BOOST_TEST(moving.cost().bytes_relayed == 0);
    BOOST_TEST(moving.cost().bytes_out == 0); // all ranks are on one node
}

BOOST_AUTO_TEST_CASE(in_rounds_nothing_is_passed_on_and_the_caller_is_told) {
    boost::mpi::communicator const world;
    one_to_all one_to_all(world, 10);
    layout const wanted = layout_of({{{"w", data_type::f32, {10}, {{0}, {10}}, {}}}});
    BOOST_CHECK_EXCEPTION(
        prepare(world, one_to_all.have, {{}, wanted},
                {.memory = rounds(detail::any_budget, [](auto const&) { return state_dict(); }),
                 .between_nodes = detail::all_relays()}),
        error, [](error const& problem) {
            return problem.code() == errc::usage &&
                   std::string(problem.what()).find("rounds do not support relays()") !=
                       std::string::npos;
        });
}

BOOST_AUTO_TEST_CASE(ranks_of_which_one_relays_are_told_who_does) {
    boost::mpi::communicator const world;
    int const last = world.size() - 1;
    if (last == 0)
        return;
    one_to_all one_to_all(world, 10);
    auto const problem_if = [&](bool relayed) {
        options const how{.between_nodes = relayed ? relays() : detail::node_traffic{}};
        return test::agreed_error(world,
                                  [&] { prepare(world, one_to_all.have, one_to_all.want, how); });
    };
    std::string const end = "; every rank must make the same call";
    BOOST_TEST(
        problem_if(world.rank() == last) ==
        "ranks_disagree: rank 0 runs redistribute with options.between_nodes none and rank " +
            std::to_string(last) + " with relays()" + end);
    BOOST_TEST(problem_if(world.rank() == 0) ==
               "ranks_disagree: rank 0 runs redistribute with options.between_nodes relays() and "
               "rank 1 with none" +
                   end);
}

BOOST_AUTO_TEST_CASE(relays_over_different_networks_are_different_options) {
    boost::mpi::communicator const world;
    if (world.size() == 1)
        return;
    one_to_all one_to_all(world, 10);
    network slow;
    slow.link.node_bytes_per_second = 1e9 * (1 + std::min(world.rank(), 1));
    BOOST_TEST(test::agreed_error(world,
                                  [&] {
                                      prepare(world, one_to_all.have, one_to_all.want,
                                              {.between_nodes = relays(slow)});
                                  }) ==
               "ranks_disagree: rank 0 runs redistribute and rank 1 runs "
               "it with a different options.between_nodes; every rank must "
               "make the same call");
}

BOOST_AUTO_TEST_CASE(what_relays_do_not_make_faster_is_sent_directly) {
    boost::mpi::communicator const world;
    int const size = world.size();
    // The first ranks hold what all others want, each on a node of its own.
    for (int const holders : {1, std::max(1, size / 2)}) {
        index_t const elements = index_t{24} << 18; // chunks: more than a chain waits for
        shard_descriptor const vector{"a", data_type::f32, {elements}, {{0}, {elements}}};
        auto const count = static_cast<std::size_t>(holders);
        std::vector<std::vector<shard_descriptor>> have(count, {vector}), want(count);
        want.resize(static_cast<std::size_t>(size), {vector});
        test::rank_tensors held(layout_of(have), world.rank());
        test::rank_tensors wanted(layout_of(want), world.rank());
        held.fill();
        job moving = prepare(world, held.views(), wanted.views(),
                             {.processes_per_node = 1, .between_nodes = relays()});
        run(moving);
        BOOST_TEST(wanted.wrong_elements() == 0u);
        auto const passed = of_all(world, moving.cost().bytes_relayed);
        bool const is_relayed = std::accumulate(passed.begin(), passed.end(), index_t{0}) > 0;
        BOOST_TEST(is_relayed == (size - holders > holders)); // else each has its own sender
    }
}

BOOST_AUTO_TEST_SUITE_END()
