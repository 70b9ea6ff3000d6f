// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "support/typed_problem.hpp"

#include <reshard/expr/algebra.hpp>
#include <reshard/plan/cost.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/verify.hpp>

// Plans at compile time, over shards that are types; compiling is the test.

namespace {

using namespace reshard;
using namespace reshard::detail;
using reshard::test::typed_problem;
using reshard::test::typed_ranks_of;

// A matrix of 4 x 6 moves from two ranks that have rows each to three that have columns each.
template <index_t Row>
using rows = typed::shard<"w", float, index_vector{4, 6}, box{{Row, 0}, {2, 6}}>;
template <index_t Column>
using columns = typed::shard<"w", float, index_vector{4, 6}, box{{0, Column}, {4, 2}}>;

using by_rows = typed_ranks<typed::state_dict<rows<0>>, typed::state_dict<rows<2>>>;
using by_columns = typed_ranks<typed::state_dict<columns<0>>, typed::state_dict<columns<2>>,
                               typed::state_dict<columns<4>>>;

constexpr bool has(plan const& plan, holder_t source, holder_t target, box const& region) {
    for (transfer const& part : plan.transfers)
        if (part.source_holder == source && part.target_holder == target)
            return cut_of(plan, part).source_box() == region &&
                   cut_of(plan, part).target_box() == region;
    return false;
}

static_assert([] {
    typed_problem<by_rows, by_columns> job;
    plan_problem const problem = job.problem();
    plan const plan = make_plan(problem);
    return plan.transfers.size() == 6 && has(plan, 0, 0, {{0, 0}, {2, 2}}) &&
           has(plan, 1, 0, {{2, 0}, {2, 2}}) && has(plan, 0, 2, {{0, 4}, {2, 2}}) &&
           has(plan, 1, 2, {{2, 4}, {2, 2}}) && !verify(plan, problem);
}());

// One rank's plan is the part of everybody's plan that concerns it.
static_assert([] {
    typed_problem<by_rows, by_columns> job;
    plan const plan = make_plan(job.problem(), {holder_set({1}), holder_set({1})});
    return plan.transfers.size() == 4 && has(plan, 1, 0, {{2, 0}, {2, 2}}) &&
           has(plan, 1, 1, {{2, 2}, {2, 2}}) && has(plan, 0, 1, {{0, 2}, {2, 2}}) &&
           has(plan, 1, 2, {{2, 4}, {2, 2}});
}());

// The cost: rank 0 keeps 2 x 2 of its floats and sends two boxes of the same size.
static_assert([] {
    typed_problem<by_rows, by_columns> job;
    plan_cost const cost = cost_of(make_plan(job.problem()), 3);
    return cost.transfers == 6 && cost.messages == 4 && cost.bytes == 96 &&
           cost.bytes_local == 32 && cost.by_process[0].bytes_out == 32 &&
           cost.by_process[2].bytes_in == 32 && cost.peak_extra_bytes == 48;
}());

// Two vectors, of two ranks, become one transposed and rounded matrix.
template <fixed_string Key>
using row_of = typed::shard<Key, float, index_vector{1, 3}, box{{0, 0}, {1, 3}}>;
template <index_t Column>
using column_of_ab = typed::shard<"ab", bfloat16, index_vector{3, 2}, box{{0, Column}, {3, 1}}>;

static_assert([] {
    typed_problem<typed_ranks<typed::state_dict<row_of<"a">>, typed::state_dict<row_of<"b">>>,
                  typed_ranks<typed::state_dict<column_of_ab<0>, column_of_ab<1>>>>
        job;
    job.define("ab",
               transpose(cast(concat({job.source("a"), job.source("b")}, 0), data_type::bf16)));
    plan const plan = make_plan(job.problem());
    transfer const second = plan.transfers[1];
    cut const geometry = cut_of(plan, second);
    return plan.transfers.size() == 2 && second.source_holder == 1 && second.source_key == 1 &&
           second.target_shard == 1 && geometry.source_box() == box{{0, 0}, {1, 3}} &&
           geometry.target_box() == box{{0, 1}, {3, 1}} && geometry.order[0] == 1 &&
           plan.chains[second.chain].steps().size() == 1 &&
           wire_dtype(plan, second) == data_type::bf16 && wire_bytes(plan, second) == 6;
}());

// A whole job: cut for two ranks, then for three, of which the last has less.
using trained =
    typed::layout<mesh{{"tp", 2}}, typed::tensor<"up", float, index_vector{8, 4}, shard{0}>,
                  typed::tensor<"norm", float, index_vector{4}, replicate{}>>;
using served =
    typed::layout<mesh{{"tp", 3}}, typed::tensor<"norm", float, index_vector{4}, shard{0}>,
                  typed::tensor<"up", float, index_vector{8, 4}, shard{0}>>;

static_assert([] {
    typed_problem<typed_ranks_of<trained>, typed_ranks_of<served>> job;
    plan_problem const problem = job.problem();
    plan const plan = make_plan(problem);
    // "norm" first: 2 + 2 + 0 elements, each from a replica; "up": 3 = 3, 3 = 1 + 2, 2 rows.
    return plan.transfers.size() == 6 && plan.transfers[0].source_holder == 0 &&
           plan.transfers[1].source_holder == 1 && has(plan, 0, 1, {{3, 0}, {1, 4}}) &&
           !verify(plan, problem);
}());

// A flat range travels as the boxes that it is.
using flat = typed::flat_shard<typed::shard<"w", float, index_vector{3, 4}, box{{0, 0}, {3, 4}}>,
                               flat_range{2, 9}>;
using all_of_w = typed::shard<"w", float, index_vector{3, 4}, box{{0, 0}, {3, 4}}>;

static_assert([] {
    typed_problem<typed_ranks<typed::state_dict<all_of_w>>, typed_ranks<typed::state_dict<flat>>>
        job;
    plan const plan = make_plan(job.problem());
    return plan.transfers.size() == 3 &&
           cut_of(plan, plan.transfers[0]).target_box() == box{{0, 2}, {1, 2}} &&
           cut_of(plan, plan.transfers[1]).target_box() == box{{1, 0}, {1, 4}} &&
           cut_of(plan, plan.transfers[2]).target_box() == box{{2, 0}, {1, 1}};
}());

} // namespace
