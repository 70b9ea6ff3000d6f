// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/analysis/relabelling.hpp>

#include "oracle/random.hpp"
#include "support/layouts.hpp"
#include "support/placements.hpp"

#include <reshard/expr/algebra.hpp>
#include <reshard/layout/layout_of.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::any_placement_of;
using reshard::test::part;

BOOST_AUTO_TEST_SUITE(relabelling_)

namespace {

/// The places of the elements that each holder has of a tensor, in row-major order.
std::vector<std::set<index_t>> elements_of(layout const& layout, std::string const& key,
                                           std::size_t holders) {
    std::vector<std::set<index_t>> result(holders);
    tensor_layout const& tensor_layout = *layout.find(key);
    index_vector const& shape = layout.shape_of(tensor_layout);
    tensor_shards const shards = layout.shards_of(tensor_layout);
    for (std::size_t i = 0; shards && i < shards.size(); ++i)
        for (box const& region : shards.boxes(i)) {
            if (std::ranges::count(region.shape, 0) > 0)
                continue;
            index_vector at = index_vector::filled(shape.size(), 0);
            for (bool more = true; more;) {
                index_t index = 0;
                for (std::size_t axis = 0; axis < shape.size(); ++axis)
                    index = index * shape[axis] + region.offset[axis] + at[axis];
                result[shards.holder(i)].insert(index);
                more = false;
                for (std::size_t axis = shape.size(); axis-- > 0 && !more;)
                    more = ++at[axis] < region.shape[axis] || (at[axis] = 0);
            }
        }
    return result;
}

/// What process `p` has of what rank `r` wants, counted element by element: bytes of floats.
std::vector<std::vector<index_t>> kept_by_pair(layout const& source, layout const& target,
                                               std::size_t processes) {
    std::vector<std::vector<index_t>> kept(processes, std::vector<index_t>(processes, 0));
    for (tensor_layout const& layout : target.tensors) {
        auto const has = elements_of(source, layout.key, processes);
        auto const wants = elements_of(target, layout.key, processes);
        for (std::size_t p = 0; p < processes; ++p)
            for (std::size_t r = 0; r < processes; ++r)
                kept[p][r] += 4 * std::ranges::count_if(wants[r], [&](index_t element) {
                                  return has[p].contains(element);
                              });
    }
    return kept;
}

/// The bytes that all ranks want: of floats, and of replicas each.
index_t wanted_bytes(layout const& target, std::size_t ranks) {
    std::size_t elements = 0;
    for (tensor_layout const& layout : target.tensors)
        for (std::set<index_t> const& of_rank : elements_of(target, layout.key, ranks))
            elements += of_rank.size();
    return static_cast<index_t>(4 * elements);
}

index_t sum_kept(std::vector<std::vector<index_t>> const& kept, std::vector<holder_t> const& order,
                 std::size_t ranks) {
    index_t sum = 0;
    for (std::size_t r = 0; r < ranks; ++r)
        sum += kept[order[r]][r];
    return sum;
}

/// The most that any order of the processes keeps.
index_t best_of_all_orders(std::vector<std::vector<index_t>> const& kept, std::size_t ranks,
                           holder_t on_node) {
    std::vector<holder_t> order(kept.size());
    std::iota(order.begin(), order.end(), holder_t{0});
    index_t best = 0;
    do {
        bool stays = true;
        for (holder_t r = 0; on_node != 0 && r < ranks; ++r)
            stays = stays && order[r] / on_node == r / on_node;
        if (stays)
            best = std::max(best, sum_kept(kept, order, ranks));
    } while (std::ranges::next_permutation(order).found);
    return best;
}

rank_mesh some_ranks(oracle::random_numbers& random, mesh const& ranks) {
    std::vector<holder_t> holders(ranks.rank_count());
    std::iota(holders.begin(), holders.end(), holder_t{0});
    random.shuffle(holders);
    return {ranks, holders};
}

/// A layout of three tensors over a few ranks, in any order.
layout any_layout(oracle::random_numbers& random, std::vector<index_vector> const& shapes) {
    static std::vector<std::vector<index_t>> const meshes = {{1},    {2}, {3},    {5},
                                                             {2, 2}, {7}, {2, 3}, {3, 2}};
    auto const& extents = meshes[static_cast<std::size_t>(random.below(8))];
    std::vector<mesh_axis> axes;
    for (index_t const extent : extents)
        axes.emplace_back(axes.empty() ? "a" : "b", extent);
    mesh const grid(axes);
    rank_mesh const ranks = some_ranks(random, grid);
    std::vector<tensor_sharding> shardings;
    for (std::size_t i = 0; i < shapes.size(); ++i)
        shardings.push_back(sharding_of("w" + std::to_string(i), data_type::f32,
                                        any_placement_of(random, ranks, shapes[i])));
    return layout_of(std::move(shardings));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_permutation_of_ranks_moves_nothing) {
    std::vector<std::vector<shard_descriptor>> source(4), target(4);
    holder_t const plays[] = {2, 0, 3, 1};
    for (index_t rank = 0; rank < 4; ++rank) {
        target[std::size_t(rank)].push_back(part("w", {8, 3}, {{2 * rank, 0}, {2, 3}}));
        source[plays[rank]].push_back(part("w", {8, 3}, {{2 * rank, 0}, {2, 3}}));
    }
    relabelling const found_relabelling = best_relabelling(layout_of(source), layout_of(target));
    BOOST_TEST(found_relabelling.process_of == (std::vector<holder_t>{2, 0, 3, 1}),
               boost::test_tools::per_element());
    BOOST_TEST(found_relabelling.bytes == 96);
    BOOST_TEST(found_relabelling.bytes_kept == 96);
    BOOST_TEST(found_relabelling.bytes_kept_before == 0);
    // Within nodes of two: ranks 1 and 2 can be played by processes that have their elements.
    relabelling const within = best_relabelling(layout_of(source), layout_of(target), 2);
    BOOST_TEST(within.bytes_kept == 48);
    BOOST_TEST(within.process_of == (std::vector<holder_t>{1, 0, 3, 2}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(equal_tensors_count_each) {
    std::vector<std::vector<shard_descriptor>> source(2), target(2);
    for (std::string const key : {"v", "w", "x"})
        for (index_t rank = 0; rank < 2; ++rank) {
            target[std::size_t(rank)].push_back(part(key, {8}, {{4 * rank}, {4}}));
            // Of "x" each process has its own rank's: two tensors against one.
            std::size_t const process = std::size_t(key == "x" ? rank : 1 - rank);
            source[process].push_back(part(key, {8}, {{4 * rank}, {4}}));
        }
    relabelling const relabelling = best_relabelling(layout_of(source), layout_of(target));
    BOOST_TEST(relabelling.process_of == (std::vector<holder_t>{1, 0}),
               boost::test_tools::per_element());
    BOOST_TEST(relabelling.bytes == 96);
    BOOST_TEST(relabelling.bytes_kept == 64);
    BOOST_TEST(relabelling.bytes_kept_before == 32);
}

BOOST_AUTO_TEST_CASE(what_is_reshaped_counts_and_zeros_stay_with_nobody) {
    // Rows of 6 become rows of 4: process 1 has all that rank 0 wants, except the filled-up part.
    layout const source =
        layout_of({{part("w", {4, 6}, {{2, 0}, {2, 6}})}, {part("w", {4, 6}, {{0, 0}, {2, 6}})}});
    layout const target =
        layout_of({{part("w", {8, 4}, {{0, 0}, {3, 4}})}, {part("w", {8, 4}, {{3, 0}, {5, 4}})}});
    mapping program;
    program.define("w",
                   resize(reshape(program.source("w", {4, 6}, data_type::f32), {6, 4}), {8, 4}));
    relabelling const relabelling = best_relabelling(program, source, target);
    BOOST_TEST(relabelling.process_of == (std::vector<holder_t>{1, 0}),
               boost::test_tools::per_element());
    BOOST_TEST(relabelling.bytes == 4 * 32);
    BOOST_TEST(relabelling.bytes_kept == 4 * 24);
    BOOST_TEST(relabelling.bytes_kept_before == 0);
}

BOOST_AUTO_TEST_CASE(what_nobody_has_is_said_as_in_plans) {
    layout const source = layout_of({{part("w", {8}, {{0}, {5}})}});
    layout const target = layout_of({{part("w", {8}, {{0}, {8}})}});
    catalog const wanted = catalog_of(target);
    mapping const program = identity_mapping(catalog_of(source), &wanted);
    auto const text_of = [](auto&& run) {
        try {
            run();
        } catch (error const& failure) {
            return std::string(failure.what());
        }
        return std::string();
    };
    std::string const text = text_of([&] { best_relabelling(program, source, target); });
    BOOST_TEST(text != "");
    BOOST_TEST(text == text_of([&] { make_plan(problem_of(program, source, target)); }));
}

BOOST_AUTO_TEST_CASE(no_order_of_processes_keeps_more) {
    oracle::random_numbers random(1911);
    int changed = 0;
    for (int i = 0; i < 500; ++i) {
        std::vector<index_vector> const shapes = {{6, 5}, {12}, {2, 3, 4}};
        layout const source = any_layout(random, shapes), target = any_layout(random, shapes);
        auto const holders = [](layout const& layout) { return std::size_t(layout.holders); };
        std::size_t const ranks = holders(target), total = std::max(holders(source), ranks);
        auto const kept = kept_by_pair(source, target, total);
        for (holder_t const on_node : {0u, 2u, 3u}) {
            relabelling relabelling;
            try {
                relabelling = best_relabelling(source, target, on_node);
            } catch (error const&) {
                continue; // elements that nobody has
            }
            BOOST_TEST_REQUIRE(relabelling.process_of.size() == ranks);
            BOOST_TEST(
                std::set(relabelling.process_of.begin(), relabelling.process_of.end()).size() ==
                ranks);
            for (holder_t r = 0; on_node != 0 && r < ranks; ++r)
                BOOST_TEST(relabelling.process_of[r] / on_node == r / on_node);
            BOOST_TEST(relabelling.bytes == wanted_bytes(target, ranks));
            BOOST_TEST(relabelling.bytes_kept == sum_kept(kept, relabelling.process_of, ranks));
            BOOST_TEST(relabelling.bytes_kept == best_of_all_orders(kept, ranks, on_node));
            changed += relabelling.bytes_kept > relabelling.bytes_kept_before;
        }
    }
    BOOST_TEST(changed > 100);
}

BOOST_AUTO_TEST_SUITE_END()
