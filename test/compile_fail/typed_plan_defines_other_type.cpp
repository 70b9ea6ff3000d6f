// expect: static assertion failed.*: a typed::definition has a different data type from the tensor of the target; convert it with typed::cast
// facts: "a".*wanted<.*bf16.*actual<.*f32
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/typed_plan.hpp>

using namespace reshard;

struct trained
    : typed::layout<mesh{{"tp", 2}}, typed::tensor<"a", float, index_vector{4, 2}, shard{0}>,
                    typed::tensor<"b", float, index_vector{4, 2}, shard{1}>> {};
struct served : typed::layout<mesh{}, typed::tensor<"a", bfloat16, index_vector{4, 2}>> {};

std::size_t const bad =
    typed::plan<trained, served, typed::definition<"a", typed::source_of<trained, "b">>>::size;
