// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/typed_problem.hpp>

#include <iostream>

// Layouts as types. Who sends what is then known to the compiler: this program does not compile
// unless the redistribution is complete, and costs what is written here.

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

/// What of a plan outlives its making.
struct facts {
    bool is_complete; ///< every element of every shard is written exactly once
    std::size_t transfers;
    process_cost rank_0;
};

constexpr facts plan_it() {
    typed_problem<typed_ranks_of<trained>, typed_ranks_of<served>> job;
    job.define("gate_up", concat({job.source("gate"), job.source("up")}, 0));
    plan_problem const problem = job.problem();
    plan const whole = make_plan(problem);
    return {!verify(whole, problem), whole.transfers.size(), cost_of(whole, 4).by_process[0]};
}

constexpr facts known = plan_it();
static_assert(known.is_complete);

// Rank 0 gets the gate of all four ranks, rank 1 their up; each keeps a norm of its own.
static_assert(known.transfers == 4 + 4 + 2);

// Of the gate's four parts of 2 x 4 floats, one is where it belongs.
static_assert(known.rank_0.bytes_in == 3 * 2 * 4 * 4);
static_assert(known.rank_0.bytes_local == 2 * 4 * 4 + 4 * 4);

} // namespace

int main() {
    std::cout << known.transfers << " transfers, known before the program ran; rank 0 gets "
              << known.rank_0.bytes_in << " bytes.\n";
}
