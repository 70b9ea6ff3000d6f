// expect: fail_tensor
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/typed_problem.hpp>

using namespace reshard;

using held = typed_state_dict<typed_shard<"w", float, index_vector{2}, box{{0}, {2}}>>;
using wanted = typed_state_dict<typed_shard<"v", float, index_vector{2}, box{{0}, {2}}>>;

constexpr std::size_t bad =
    typed_problem<typed_ranks<held>, typed_ranks<wanted>>().problem().targets.size();
