// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/cyclic_cuts.hpp>

#include "oracle/random.hpp"

#include <reshard/layout/layout_of.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/plan/verify.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(plan_cyclic_cuts)

namespace {

bool has(axis_blocks const& side, index_t element) {
    return element >= side.begin && element < side.end &&
           (element - side.begin) % side.period < side.block;
}

axis_blocks drawn(oracle::random_numbers& random) {
    axis_blocks side{random.between(0, 40), 0};
    side.end = side.begin + random.between(0, 90);
    if (random.chance(70)) {
        side.block = random.between(1, 7);
        side.period = side.block * random.between(2, 4);
    }
    return side;
}

layout dealt(index_t n, index_t block, std::int64_t across) {
    return layout_of("w", data_type::f64, {n, n}, {{"row", 2}, {"column", across}},
                     {block_cyclic{0, block}, block_cyclic{1, block}});
}

std::size_t transfers(layout const& source, layout const& target) {
    mapping const program = identity_mapping(catalog_of(source));
    plan_problem const problem = problem_of(program, source, target);
    plan const plan = make_plan(problem);
    BOOST_TEST(!verify(plan, problem));
    return plan.transfers.size();
}

/// The form in which a layout is given.
enum class form { computed, listed, in_blocks };

/// The same shards: computed, listed as they are, or listed with each block as a shard.
layout given_as(form chosen, layout const& dealt, holder_t holders) {
    if (chosen == form::computed)
        return dealt;
    std::vector<std::vector<shard_descriptor>> shards;
    for (holder_t holder = 0; holder < holders; ++holder) {
        shards.emplace_back();
        for (shard_descriptor& shard : shards_of(dealt, holder)) {
            if (chosen == form::listed) {
                shards.back().push_back(std::move(shard));
                continue;
            }
            for_each_block(shard.region, shard.cycles, [&](box const& block) {
                shards.back().push_back({shard.key, shard.dtype, shard.global_shape, block});
            });
        }
    }
    return layout_of(shards);
}

/// A tensor dealt out along some of its axes, over two axes of ranks and replicas.
layout drawn_layout(oracle::random_numbers& random, index_vector const& shape, std::int64_t ranks) {
    auto const placed = [&](std::size_t axis) -> placement {
        if (random.chance(65))
            return block_cyclic{axis, random.between(1, 4)};
        return random.chance(70) ? placement(shard{axis}) : placement(replicate{});
    };
    std::size_t const axis = static_cast<std::size_t>(random.below(2));
    return layout_of("w", data_type::f64, shape, {{"a", ranks / 2}, {"b", 2}},
                     {placed(axis), placed(1 - axis)});
}

bool has(tensor_shards const& shards, std::uint32_t shard, box const& element) {
    return common_elements(shards.region(shard), shards.cycles(shard), element, {}) == 1;
}

/// Each element of each target shard comes once, from a shard that has it.
void check_elements(layout const& source, layout const& target, std::uint64_t seed) {
    mapping const program = identity_mapping(catalog_of(source));
    plan_problem const problem = problem_of(program, source, target);
    plan const plan = make_plan(problem);
    tensor_shards const &from = problem.sources[0].shards, &into = problem.targets[0].shards;
    std::map<std::pair<std::uint32_t, index_t>, int> times;
    for (transfer const& moved : plan.transfers) {
        cut const geometry = cut_of(plan, moved);
        BOOST_TEST((geometry.source_offset == geometry.target_offset));
        geometry.for_each_target_box([&](box const& part) {
            for (index_t i = 0; i < element_count(part.shape); ++i) {
                box element{unravel_index(i, part.shape), index_vector::filled(2, 1)};
                element = {{element.offset[0] + part.offset[0], element.offset[1] + part.offset[1]},
                           element.shape};
                BOOST_TEST_REQUIRE(has(from, moved.source_shard, element), "seed " << seed);
                BOOST_TEST_REQUIRE(has(into, moved.target_shard, element), "seed " << seed);
                ++times[{moved.target_shard, element.offset[0] * 1000 + element.offset[1]}];
            }
        });
    }
    index_t wanted = 0;
    for (std::uint32_t shard = 0; shard < into.size(); ++shard)
        wanted += into.elements(shard);
    BOOST_TEST(static_cast<index_t>(times.size()) == wanted, "seed " << seed);
    for (auto const& [element, count] : times)
        BOOST_TEST(count == 1, "seed " << seed);
    BOOST_TEST(!verify(plan, problem), "seed " << seed);
}

} // namespace

BOOST_AUTO_TEST_CASE(runs_have_each_common_element_once) {
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        oracle::random_numbers random(seed);
        axis_blocks const a = drawn(random), b = drawn(random);
        index_t const low = random.between(0, 30);
        axis_blocks const limits{low, low + random.between(0, 120)};
        std::vector<int> times(200, 0);
        for (axis_runs const& runs : common_runs(a, b, limits).found())
            for (index_t i = 0; i < runs.elements(); ++i) {
                index_t const run = i / runs.length;
                ++times[static_cast<std::size_t>(runs.first + run / runs.count * runs.period +
                                                 run % runs.count * runs.step + i % runs.length)];
            }
        for (index_t i = 0; i < 200; ++i)
            BOOST_TEST(times[static_cast<std::size_t>(i)] ==
                           (has(a, i) && has(b, i) && has(limits, i) ? 1 : 0),
                       "seed " << seed << ", element " << i);
    }
}

// Of each axis, every pair of ranks has one run that repeats.
BOOST_AUTO_TEST_CASE(a_plan_does_not_grow_with_the_number_of_blocks) {
    auto const rows = [](index_t n) {
        return layout_of("w", data_type::f64, {n, n}, {{"row", 4}}, {shard{0}});
    };
    for (index_t const n : {16, 64, 128}) {
        BOOST_TEST(transfers(dealt(n, 1, 2), rows(n)) == 16u);
        BOOST_TEST(transfers(rows(n), dealt(n, 1, 2)) == 16u);
        BOOST_TEST(transfers(dealt(n, 1, 2), dealt(n, 1, 2)) == 4u);
    }
    // Blocks of one and of two, dealt out to two: the period is four, with one element of each.
    BOOST_TEST(transfers(dealt(64, 1, 2), dealt(64, 2, 2)) == 16u);
    // A block of 16 has eight elements of each rank's blocks of one: a loop in a loop, both ways.
    BOOST_TEST(transfers(dealt(64, 1, 2), dealt(64, 16, 2)) == 16u);
    BOOST_TEST(transfers(dealt(64, 16, 2), dealt(64, 1, 2)) == 16u);
}

// Three axes are dealt out, and a cut of four axes has loops for four of their six repetitions.
BOOST_AUTO_TEST_CASE(no_axis_takes_the_last_loop_of_another_one) {
    auto const blocks = [](index_t n, index_t block) {
        return layout_of("w", data_type::f64, {n, n, n, 4}, {{"a", 2}, {"b", 2}, {"c", 2}},
                         {block_cyclic{0, block}, block_cyclic{1, block}, block_cyclic{2, block}});
    };
    for (index_t const n : {16, 32, 64})
        BOOST_TEST(transfers(blocks(n, 1), blocks(n, 4)) == 256u);
}

BOOST_AUTO_TEST_CASE(boxes_that_overlap_or_exceed_64_bits_are_refused) {
    constexpr index_t large = index_t{1} << 62, square = index_t{1} << 20;
    struct row {
        char const* what;
        index_t offset;
        index_vector extent;
        axis_repeats repeats;
        bool is_valid;
    };
    for (row const& row :
         {row{"apart", 5, {1, 2}, {{3, 4}, {1, 2}}, true},
          row{"apart, twice", 5, {1, 2}, {{3, 1, 2, 1}, {2, 0, 5, 0}}, true},
          row{"the outer ones overlap", 5, {1, 2}, {{3, 1, 2, 1}, {2, 0, 4, 0}}, false},
          row{"the end exceeds 64 bits", large, {1, 1}, {{2, 1}, {large, 0}}, false},
          row{"the elements exceed 64 bits",
              0,
              {square, square},
              {{square, square}, {square, square}},
              false},
          row{"empty boxes", 0, {0, 1}, {{large, 1}, {0, 0}}, false}}) {
        cut geometry{permutation::identity(2), {row.offset, 0}, {0, 0}, row.extent};
        geometry.repeats = row.repeats;
        bool is_valid = true;
        try {
            validate(geometry);
        } catch (error const&) {
            is_valid = false;
        }
        BOOST_TEST(is_valid == row.is_valid, row.what);
    }
}

BOOST_AUTO_TEST_CASE(a_plan_of_listed_shards_does_not_grow_with_the_number_of_blocks) {
    layout const rows = layout_of("w", data_type::f64, {64, 64}, {{"row", 4}}, {shard{0}});
    layout const listed = given_as(form::listed, dealt(64, 1, 2), 4);
    BOOST_TEST(transfers(listed, rows) == 16u);
    BOOST_TEST(transfers(given_as(form::listed, rows, 4), listed) == 16u);
    // A replica in blocks of its own is no error: then all shards are taken block by block.
    std::vector<std::vector<shard_descriptor>> shards{shards_of(listed, 0)};
    for (holder_t holder = 0; holder < 4; ++holder)
        shards.push_back(shards_of(given_as(form::in_blocks, dealt(64, 1, 2), 4), holder));
    BOOST_TEST(transfers(layout_of(shards), rows) > 1024u);
}

BOOST_AUTO_TEST_CASE(elements_come_once_from_a_shard_that_has_them) {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        oracle::random_numbers random(seed);
        index_vector const shape{random.between(0, 23), random.between(1, 23)};
        std::int64_t const given = 2 * random.between(1, 3), wanted = 2 * random.between(1, 3);
        std::vector<form> const forms{form::computed, form::listed, form::in_blocks};
        layout const source = given_as(random.pick(forms), drawn_layout(random, shape, given),
                                       static_cast<holder_t>(given));
        layout const target = given_as(random.pick(forms), drawn_layout(random, shape, wanted),
                                       static_cast<holder_t>(wanted));
        check_elements(source, target, seed);
    }
}

BOOST_AUTO_TEST_CASE(what_a_plan_of_blocks_loses_or_writes_twice_is_noticed) {
    layout const source = dealt(8, 1, 2);
    layout const target = layout_of("w", data_type::f64, {8, 8}, {{"row", 1}}, {replicate{}});
    mapping const program = identity_mapping(catalog_of(source));
    plan_problem const problem = problem_of(program, source, target);
    plan const right = make_plan(problem);
    BOOST_TEST_REQUIRE(right.transfers.size() == 4u); // each a quarter of the elements
    plan lost = right;
    lost.transfers.erase(lost.transfers.begin() + 1);
    BOOST_TEST((verify(lost, problem)->type == plan_fault::kind::missing));
    BOOST_TEST((verify(lost, problem)->where.shape == index_vector{1, 1}));
    plan twice = right;
    twice.transfers[1].cut = twice.transfers[0].cut;
    BOOST_TEST((verify(twice, problem)->type == plan_fault::kind::twice));
    layout const columns =
        layout_of("w", data_type::f64, {8, 8}, {{"column", 2}}, {block_cyclic{1, 2}});
    plan_problem const narrow = problem_of(program, source, columns);
    BOOST_TEST((verify(right, narrow)->type == plan_fault::kind::outside));
}

BOOST_AUTO_TEST_SUITE_END()
