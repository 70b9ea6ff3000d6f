// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/job_state.hpp>
#include <reshard/mpi/directory_query.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/plan_sides.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/mpi/shard_directory.hpp>
#include <reshard/mpi/sparse_exchange.hpp>

#include "support/agreed_error.hpp"
#include "support/rank_tensors.hpp"

#include <reshard/plan/problem.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::agreed_error;
using reshard::test::rank_tensors;
using reshard::test::two_layouts;

BOOST_AUTO_TEST_SUITE(mpi_directory_query)

namespace {

struct directory_query_fixture {
    boost::mpi::communicator world;
    mpi_group ranks = mpi_group::duplicate_of(world);
    int rank = world.rank();
    int size = world.size();
    int last = size - 1;
    options asking{.lookup = directory(0)};
};

/// The elements that one process gets, by source and target: the sender is chosen in another way if
/// nobody knows what others want.
std::map<std::pair<std::string, std::string>, index_t>
elements_of(detail::planned_job const& planned, holder_t me) {
    std::map<std::pair<std::string, std::string>, index_t> values;
    plan_problem const problem = problem_of(planned.program, planned.source, planned.target);
    for (transfer const& moved : planned.whole.transfers) {
        if (moved.target_holder != me)
            continue;
        std::string const source =
            moved.source_key == zero_source
                ? "zeros"
                : std::string(planned.program.sources()[moved.source_key].key);
        values[{source, std::string(problem.targets[moved.target_key].key)}] +=
            element_count(cut_of(planned.whole, moved).extent);
    }
    return values;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(texts_reach_those_for_whom_they_are, directory_query_fixture) {
    sparse_exchange exchange(ranks);
    for (int round = 0; round < 300; ++round) {
        // Rank r writes to the rank `round` after it, and rank 0 to itself too.
        int const to = (rank + round) % size;
        std::vector<addressed_text> texts{{to, std::string(static_cast<std::size_t>(rank), 'x')}};
        if (rank == 0 && to != 0)
            texts.push_back({0, "self" + std::to_string(round)});
        std::vector<addressed_text> expected;
        int const from = (rank + size - round % size) % size;
        expected.push_back({from, std::string(static_cast<std::size_t>(from), 'x')});
        if (rank == 0 && to != 0)
            expected.insert(expected.begin(), {0, "self" + std::to_string(round)});
        BOOST_TEST((exchange.run(texts) == expected), "round " << round);
    }
    BOOST_TEST(exchange.run({}).empty());
}

BOOST_FIXTURE_TEST_CASE(a_directory_finds_what_shares_elements, directory_query_fixture) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        two_layouts const both(seed, size);
        layout const layout = both.source;
        rank_tensors const tensors(layout, rank);
        sparse_exchange exchange(ranks);
        auto const keys = gather_keys(ranks, exchange, tensors.shards());
        shard_directory directory(ranks, exchange, keys, tensors.shards());
        oracle::random_numbers random(seed * 100 + static_cast<std::uint64_t>(rank));
        auto const key = static_cast<key_id>(random.below(static_cast<index_t>(keys.size())));
        box region;
        for (index_t const extent : keys[key].shape) {
            index_t const first = extent == 0 ? 0 : random.below(extent);
            region.offset.push_back(first);
            region.shape.push_back(random.between(0, extent - first));
        }
        // One of the holders of each shard that overlaps, whichever.
        std::vector<std::pair<box, std::optional<flat_range>>> expected;
        tensor_shards const shards = layout.shards_of(*layout.find(keys[key].key));
        for (std::size_t i = 0; i < shards.size(); ++i)
            if (std::ranges::any_of(shards.boxes(i), [&](box const& part) {
                    return !is_empty(part) && intersect(part, region).has_value();
                }))
                expected.emplace_back(shards.region(i), shards.flat(i));
        std::ranges::sort(expected);
        expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
        std::vector<std::pair<box, std::optional<flat_range>>> pairs;
        for (directory_entry const& entry : directory.look_up({{key, 0, 0, region, {}}}, {})) {
            pairs.emplace_back(entry.region, entry.flat);
            std::vector<shard_descriptor> const descriptors =
                rank_tensors(layout, static_cast<int>(entry.holder)).shards();
            std::vector<shard_descriptor> of_key;
            std::ranges::copy_if(
                descriptors, std::back_inserter(of_key),
                [&](shard_descriptor const& shard) { return shard.key == keys[key].key; });
            BOOST_TEST_REQUIRE(entry.position < of_key.size());
            BOOST_TEST((of_key[entry.position].region == entry.region));
            BOOST_TEST((of_key[entry.position].flat == entry.flat));
        }
        std::ranges::sort(pairs);
        BOOST_TEST((pairs == expected), "seed " << seed << ", rank " << rank);
    }
}

BOOST_FIXTURE_TEST_CASE(a_replicated_tensor_is_told_by_one_rank, directory_query_fixture) {
    std::vector<shard_descriptor> const shards{{"step", data_type::f32, {}, {}, {}}};
    sparse_exchange exchange(ranks);
    auto const keys = gather_keys(ranks, exchange, shards);
    shard_directory directory(ranks, exchange, keys, shards);
    auto const match = directory.look_up({{0, 0, 0, {}, {}}}, {});
    BOOST_TEST_REQUIRE(match.size() == 1u);
    BOOST_TEST(match[0].holder == static_cast<holder_t>(rank)); // a holder asks nobody
}

BOOST_FIXTURE_TEST_CASE(looking_up_plans_what_gathering_plans, directory_query_fixture) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        two_layouts const both(seed, size);
        rank_tensors source(both.source, rank);
        rank_tensors target(both.target, rank);
        // Now and then one side is known.
        known_side from{seed % 5 == 1 ? std::optional(both.source) : std::nullopt, source.views(),
                        source.shards()};
        known_side to{seed % 5 == 2 ? std::optional(both.target) : std::nullopt, target.views(),
                      target.shards()};
        call_notice const notice = notice_of(ranks, {from, to}, {});
        call_facts facts = facts_of_call(ranks, {from, to}, gather_values(ranks, notice));
        auto const match = asking.lookup.steps->plan(ranks, facts, std::nullopt, asking);
        auto const gathered = plan_of_call(ranks, facts, std::nullopt, {}).planned;
        auto const me = static_cast<holder_t>(rank);
        BOOST_TEST((elements_of(*match, me) == elements_of(*gathered, me)),
                   "seed " << seed << ", rank " << rank);
    }
}

BOOST_FIXTURE_TEST_CASE(whatever_is_looked_up_every_element_arrives, directory_query_fixture) {
    for (std::uint64_t seed = 200; seed < 240; ++seed) {
        two_layouts const both(seed, size);
        rank_tensors source(both.source, rank), target(both.target, rank);
        source.fill();
        job moving = prepare(world, source.views(), target.views(), asking);
        run(moving);
        BOOST_TEST(target.wrong_elements() == 0u, "seed " << seed << ", rank " << rank);
        job const gathered = prepare(world, source.views(), target.views());
        BOOST_TEST(moving.cost().bytes_local == gathered.cost().bytes_local);
        BOOST_TEST(moving.cost().bytes_in + moving.cost().bytes_node_in ==
                   gathered.cost().bytes_in + gathered.cost().bytes_node_in);
    }
}

BOOST_FIXTURE_TEST_CASE(a_rank_knows_its_own_shards_only, directory_query_fixture) {
    mesh const everybody{{"x", size}};
    auto const spread = [&](placement const& cut) {
        return layout_of(
            {sharding_of("a", data_type::f32, distribution(everybody, {cut}, {8, 8}))});
    };
    rank_tensors source(spread(shard{0}), rank), target(spread(shard{1}), rank);
    job const moving = prepare(world, source.views(), target.views(), asking);
    layout const layout = moving.source_layout();
    BOOST_TEST(layout.shards_of(*layout.find("a")).size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(what_nobody_holds_is_the_same_error_on_every_rank,
                        directory_query_fixture) {
    auto const on = [](index_t rows) {
        return shard_descriptor{"a", data_type::f32, {4}, {{0}, {rows}}, {}};
    };
    std::vector<float> have(3), want(4, -1);
    const_state_dict source;
    state_dict target;
    if (rank == 0)
        source.add(on(3), const_tensor_view{have.data(), data_type::f32, {3}, {1}});
    if (rank == last)
        target.add(on(4), tensor_view{want.data(), data_type::f32, {4}, {1}});
    BOOST_TEST(agreed_error(world, [&] { redistribute(world, source, target, asking); }) ==
               "not_covered: 'a' elements [3:4], which rank " + std::to_string(last) +
                   " wants, are missing from the source; source 'a' lacks [3:4]");
    BOOST_TEST((want == std::vector<float>(4, -1)));
}

BOOST_FIXTURE_TEST_CASE(one_key_of_two_shapes_is_the_same_error_on_every_rank,
                        directory_query_fixture) {
    if (size == 1)
        return;
    std::vector<float> have(5);
    index_t const extent = rank == last ? 5 : 4;
    const_state_dict source;
    source.add({"a", data_type::f32, {extent}, {{0}, {extent}}, {}},
               const_tensor_view{have.data(), data_type::f32, {extent}, {1}});
    BOOST_TEST(agreed_error(world, [&] { redistribute(world, source, {}, asking); }) ==
               "shape_mismatch: 'a' has the global shape [4] on rank 0 and [5] on rank " +
                   std::to_string(last));
}

BOOST_FIXTURE_TEST_CASE(a_key_that_no_source_has_is_the_same_error_on_every_rank,
                        directory_query_fixture) {
    std::vector<float> want(4, -1);
    state_dict target;
    if (rank == last)
        target.add({"b", data_type::f32, {4}, {{0}, {4}}, {}},
                   tensor_view{want.data(), data_type::f32, {4}, {1}});
    BOOST_TEST(agreed_error(world, [&] { redistribute(world, {}, target, asking); }) ==
               "unknown_key: 'b' is wanted by rank " + std::to_string(last) +
                   ", but the source does not have it");
}

BOOST_AUTO_TEST_SUITE_END()
