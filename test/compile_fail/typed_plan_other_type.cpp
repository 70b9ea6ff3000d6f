// expect: static assertion failed.*: a tensor of the target has a different data type from the source tensor of the same key; convert it with typed::cast
// facts: "b".*wanted<.*f32.*actual<.*f64
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/typed_plan.hpp>

using namespace reshard;

struct trained
    : typed::layout<mesh{{"tp", 2}}, typed::tensor<"a", float, index_vector{4, 2}, shard{0}>,
                    typed::tensor<"b", float, index_vector{4, 2}, shard{1}>> {};
struct served : typed::layout<mesh{}, typed::tensor<"b", double, index_vector{4, 2}>> {};

std::size_t const bad = typed::plan<trained, served>::size;
