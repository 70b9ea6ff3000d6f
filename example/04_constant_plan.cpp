// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
#include <reshard/plan/typed_problem.hpp>

#include <iostream>

// Layouts as types. Who sends what is then known to the compiler: this program does not compile unless the
// redistribution is complete, and costs what is written here.

namespace {

using namespace reshard;

// Trained on four tensor-parallel ranks, to be served by two.
using trained =
    typed_layout<mesh{{"tp", 4}}, typed_tensor<"gate", float, index_vector{8, 4}, shard{0}>,
                 typed_tensor<"up", float, index_vector{8, 4}, shard{0}>,
                 typed_tensor<"norm", float, index_vector{4}, replicate{}>>;
using served =
    typed_layout<mesh{{"tp", 2}}, typed_tensor<"gate_up", float, index_vector{16, 4}, shard{0}>,
                 typed_tensor<"norm", float, index_vector{4}, replicate{}>>;

/// The plan, handed to `use` as long as what it refers to lives.
template <class Use>
constexpr auto with_plan(Use use) {
    typed_problem<typed_ranks_of<trained>, typed_ranks_of<served>> job;
    job.define("gate_up", concat({job.source("gate"), job.source("up")}, 0));
    plan_problem const problem = job.problem();
    plan const whole = make_plan(problem);
    return use(whole, problem);
}

// Every element of every shard is written exactly once.
static_assert(with_plan([](plan const& whole, plan_problem const& problem) {
    return !verify(whole, problem);
}));

// Rank 0 gets the gate of all four ranks, rank 1 their up; each has a norm of its own.
constexpr std::size_t transfers =
    with_plan([](plan const& whole, plan_problem const&) { return whole.transfers.size(); });
static_assert(transfers == 4 + 4 + 2);

// 2 x 8 rows of 4 floats, of which one part is where it belongs, and two norms that stay.
constexpr process_cost rank_0 = with_plan(
    [](plan const& whole, plan_problem const&) { return cost_of(whole, 4).by_process[0]; });
static_assert(rank_0.bytes_in == 3 * 2 * 4 * 4);
static_assert(rank_0.bytes_local == 2 * 4 * 4 + 4 * 4);

} // namespace

int main() {
    std::cout << transfers << " transfers, known before the program ran; rank 0 gets "
              << rank_0.bytes_in << " bytes.\n";
}
