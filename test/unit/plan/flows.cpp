// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/flows.hpp>

#include "support/layouts.hpp"

#include <reshard/expr/algebra.hpp>
#include <reshard/layout/layout_of.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::whole_problem;

BOOST_AUTO_TEST_SUITE(plan_flows_)

namespace {

std::vector<flow> flows_of(plan_flows const& flows, std::size_t kind) {
    std::vector<flow> found_flows;
    flows.for_each(kind, [&](flow const& flow) { found_flows.push_back(flow); });
    return found_flows;
}

/// Two equal layers of 6 floats on rank 0 and a third on rank 1; halves are wanted.
whole_problem three_layers() {
    std::vector<std::vector<shard_descriptor>> source(2), target(2);
    for (std::string const key : {"a", "b", "c"}) {
        source[key == "c"].push_back(part(key, {6}, {{0}, {6}}));
        target[0].push_back(part(key, {6}, {{0}, {3}}));
        target[1].push_back(part(key, {6}, {{3}, {3}}));
    }
    return {source, target};
}

/// `count` tensors of 1024 by 64 floats, rows over `from` ranks, then over `to`.
struct wide_job {
    wide_job(std::size_t count, index_t from, index_t to) {
        std::vector<tensor_sharding> sources, targets;
        for (std::size_t i = 0; i < count; ++i) {
            std::string const key = "w" + std::to_string(i);
            program.define(key, program.source(key, {1024, 64}, data_type::f32));
            sources.push_back(rows(key, from));
            targets.push_back(rows(key, to));
        }
        source = layout_of(std::move(sources));
        target = layout_of(std::move(targets));
    }

    static tensor_sharding rows(std::string const& key, index_t ranks) {
        return sharding_of(key, data_type::f32,
                           distribution(mesh({{"dp", ranks}}), {shard{0}}, {1024, 64}));
    }

    mapping program;
    layout source, target;
};

} // namespace

BOOST_AUTO_TEST_CASE(tensors_held_alike_are_one_kind) {
    whole_problem const whole_problem = three_layers();
    plan_problem const problem = whole_problem();
    plan_flows const flows(problem);
    BOOST_TEST(flows.patterns().patterns.size() == 1u); // one geometry,
    BOOST_TEST_REQUIRE(flows.size() == 2u);             // and two ways in which it is held
    BOOST_TEST(flows.kind_of(0) == flows.kind_of(1));
    BOOST_TEST(flows.kind_of(0) != flows.kind_of(2));
    BOOST_TEST(flows.count(flows.kind_of(0)) == 2);
    BOOST_TEST(flows.count(flows.kind_of(2)) == 1);
    BOOST_TEST((flows_of(flows, flows.kind_of(0)) == std::vector<flow>{{0, 0, 12}, {0, 1, 12}}));
    BOOST_TEST((flows_of(flows, flows.kind_of(2)) == std::vector<flow>{{1, 0, 12}, {1, 1, 12}}));
}

BOOST_AUTO_TEST_CASE(equal_tensors_are_counted) {
    whole_problem const whole_problem = three_layers();
    plan_problem const problem = whole_problem();
    plan_cost const cost = cost_of(plan_flows(problem), 2);
    BOOST_TEST(cost.transfers == 6);
    BOOST_TEST(cost.messages == 2);
    BOOST_TEST(cost.bytes == 72);
    BOOST_TEST(cost.bytes_local == 36);
    BOOST_TEST(cost.peak_extra_bytes == 36);
    BOOST_TEST((cost.by_process[0] == process_cost{12, 24, 24, 1, 1}));
    BOOST_TEST((cost.by_process[1] == process_cost{24, 12, 12, 1, 1}));
}

BOOST_AUTO_TEST_CASE(tensors_of_other_widths_are_other_kinds) {
    mapping program;
    program.define("a", cast(program.source("a", {4}, data_type::f32), data_type::bf16));
    program.define("b", program.source("b", {4}, data_type::f32));
    shard_descriptor const a{"a", data_type::bf16, {4}, {{0}, {4}}, {}};
    whole_problem const whole_problem({{part("a", {4}, {{0}, {4}}), part("b", {4}, {{0}, {4}})}},
                                      {{}, {a, part("b", {4}, {{0}, {4}})}}, program);
    plan_problem const problem = whole_problem();
    plan_flows const flows(problem);
    BOOST_TEST(flows.size() == 2u);
    BOOST_TEST(cost_of(flows, 2).bytes == 8 + 16);
}

BOOST_AUTO_TEST_CASE(runs_are_contiguous_on_both_sides) {
    auto const runs = [](whole_problem const& whole_problem) {
        plan_problem const problem = whole_problem();
        std::vector<index_t> matches;
        auto const add = [&](flow const& flow) { matches.push_back(flow.runs); };
        plan_flows(problem).for_each(0, add, true);
        return matches;
    };
    using counts = std::vector<index_t>;
    index_vector const shape{4, 3, 5};
    shard_descriptor const whole_a = part("a", shape, whole(shape));
    auto const given = [&](shard_descriptor const& source, shard_descriptor const& target) {
        return runs({{{source}}, {{}, {target}}});
    };
    BOOST_TEST((given(whole_a, whole_a) == counts{1}));
    BOOST_TEST((given(whole_a, part("a", shape, {{1, 0, 0}, {2, 3, 5}})) == counts{1}));
    BOOST_TEST((given(whole_a, part("a", shape, {{0, 1, 0}, {4, 2, 5}})) == counts{4}));
    BOOST_TEST((given(whole_a, part("a", shape, {{0, 0, 1}, {4, 3, 2}})) == counts{12}));
    BOOST_TEST((given(whole_a, part("a", shape, {{0, 0, 1}, {4, 3, 1}})) == counts{12}));
    BOOST_TEST((given(whole_a, part("a", shape, {{3, 2, 4}, {1, 1, 1}})) == counts{1}));
    // Elements 8 to 22 of 60: the rest of a row of five, two rows and the beginning of another.
    shard_descriptor const flat = part("a", shape, whole(shape), flat_range{8, 22});
    BOOST_TEST((given(whole_a, flat) == counts{1, 1, 1, 1}));
    // Each rank of the source has its own columns of twelve rows.
    shard_descriptor const half = part("a", shape, {{0, 0, 1}, {4, 3, 3}});
    BOOST_TEST((runs({{{half, part("a", shape, {{0, 0, 0}, {4, 3, 1}}),
                        part("a", shape, {{0, 0, 4}, {4, 3, 1}})}},
                      {{}, {whole_a}}}) == counts{12, 12, 12}));
}

// Of eight columns, each rank has two blocks of two.
BOOST_AUTO_TEST_CASE(blocks_that_are_dealt_out_are_runs) {
    mapping program;
    program.define("w", program.source("w", {4, 8}, data_type::f32));
    auto const dealt = [](placement const& cut) {
        return layout_of(std::vector{
            sharding_of("w", data_type::f32, distribution(mesh({{"tp", 2}}), {cut}, {4, 8}))});
    };
    layout const source = dealt(shard{0}), target = dealt(block_cyclic{1, 2});
    plan_problem const problem = problem_of(program, source, target);
    std::vector<index_t> matches;
    plan_flows(problem).for_each(
        0, [&](flow const& flow) { matches.push_back(flow.runs); }, true);
    BOOST_TEST((matches == std::vector<index_t>(4, 4))); // two rows of two blocks for either rank
}

BOOST_AUTO_TEST_CASE(a_transpose_and_zeros_have_no_runs_and_a_cast_has) {
    auto const runs = [](auto&& made_of, data_type dtype, index_vector const& shape) {
        mapping program;
        program.define("w", made_of(program.source("w", {2, 3}, data_type::f32)));
        shard_descriptor const wanted{"w", dtype, shape, {{0, 0}, {shape[0], 2}}, {}};
        whole_problem const whole_problem({{part("w", {2, 3}, whole({2, 3}))}}, {{}, {wanted}},
                                          program);
        plan_problem const problem = whole_problem();
        index_t sum = 0;
        plan_flows(problem).for_each(
            0, [&](flow const& flow) { sum += flow.runs; }, true);
        return sum;
    };
    auto const as_it_is = [](expression const& w) { return w; };
    auto const narrowed = [](expression const& w) { return cast(w, data_type::bf16); };
    auto const transposed = [](expression const& w) { return permute(w, {1, 0}); };
    auto const none = [](expression const&) { return zeros({2, 3}, data_type::f32); };
    BOOST_TEST(runs(as_it_is, data_type::f32, {2, 3}) == 2);
    BOOST_TEST(runs(narrowed, data_type::bf16, {2, 3}) == 2);
    BOOST_TEST(runs(transposed, data_type::f32, {3, 2}) == 0);
    BOOST_TEST(runs(none, data_type::f32, {2, 3}) == 0);
}

// Of 4 rows of 6, each of two ranks has 3 columns: 4 runs of 3 in 24 elements; and 6 rows of 4 stay
// rows if the axes before them are exchanged.
BOOST_AUTO_TEST_CASE(runs_are_those_of_other_shapes_and_orders_as_well) {
    auto const runs = [](auto&& made_of, std::vector<shard_descriptor> const& have,
                         index_vector const& shape) {
        mapping program;
        program.define("w", made_of(program.source("w", have[0].global_shape, data_type::f32)));
        std::vector<std::vector<shard_descriptor>> source;
        for (shard_descriptor const& shard : have)
            source.push_back({shard});
        whole_problem const whole_problem(source, {{}, {part("w", shape, whole(shape))}}, program);
        plan_problem const problem = whole_problem();
        index_t sum = 0;
        plan_flows(problem).for_each(
            0, [&](flow const& flow) { sum += flow.runs; }, true);
        return sum;
    };
    auto const long_row = [](expression const& w) { return reshape(w, {24}); };
    auto const swapped = [](expression const& w) { return permute(w, index_vector{1, 0, 2}); };
    BOOST_TEST(runs(long_row, {part("w", {4, 6}, whole({4, 6}))}, {24}) == 1);
    BOOST_TEST(runs(long_row,
                    {part("w", {4, 6}, {{0, 0}, {4, 3}}), part("w", {4, 6}, {{0, 3}, {4, 3}})},
                    {24}) == 8);
    BOOST_TEST(runs(swapped, {part("w", {2, 3, 4}, whole({2, 3, 4}))}, {3, 2, 4}) == 6);
}

BOOST_AUTO_TEST_CASE(zeros_and_what_is_shared_stay) {
    mapping program;
    program.define(
        "w", concat({program.source("w", {2}, data_type::f32), zeros({1}, data_type::f32)}, 0));
    whole_problem const whole_problem({{part("w", {2}, {{0}, {2}})}},
                                      {{}, {part("w", {3}, {{0}, {3}})}}, program);
    plan_problem const problem = whole_problem();
    BOOST_TEST((cost_of(plan_flows(problem), 2).by_process[1] == process_cost{8, 0, 4, 1, 0}));
    plan_flows const shared(problem, {.shared_sources = true});
    BOOST_TEST((cost_of(shared, 2).by_process[1] == process_cost{0, 0, 12, 0, 0}));
}

BOOST_AUTO_TEST_CASE(a_thousand_ranks_are_counted_by_arithmetic) {
    // 256 tensors of 1024 rows: one a rank, then two on each of 512; the even row of rank 2 r comes
    // from rank 2 r, the odd one from 2 r + 1. Rank 0 keeps its first row.
    wide_job const job(256, 1024, 512);
    plan_problem const problem = problem_of(job.program, job.source, job.target);
    plan_flows const flows(problem);
    BOOST_TEST(flows.size() == 1u);
    plan_cost const cost = cost_of(flows, 1024);
    index_t const row = 64 * 4 * 256; // bytes of one row of all tensors
    BOOST_TEST(cost.transfers == 1024 * 256);
    BOOST_TEST(cost.bytes == 1024 * row);
    BOOST_TEST(cost.bytes_local == row);
    BOOST_TEST(cost.messages == 1023);
    BOOST_TEST((cost.by_process[0] == process_cost{row, 0, row, 1, 0}));
    BOOST_TEST((cost.by_process[511] == process_cost{2 * row, row, 0, 2, 1}));
    BOOST_TEST((cost.by_process[512] == process_cost{0, row, 0, 0, 1}));
}

BOOST_AUTO_TEST_SUITE_END()
