// expect: static assertion failed.*: a tensor of the target may be the state of one that the program changes
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/typed_program.hpp>
#include <reshard/plan/typed_plan.hpp>

using namespace reshard;

// At run time the state is transposed with its parameter.
struct model : typed::layout<mesh{}, typed::tensor<"w", float, index_vector{4, 4}>,
                             typed::tensor<"optim.state.w.exp_avg", float, index_vector{4, 4}>> {};

using wrong = typed::plan<model, model, typed::program<"w -> w, permute='[1, 0]'">>;

constexpr std::size_t bad = wrong::size;
