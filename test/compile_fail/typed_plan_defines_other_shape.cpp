// expect: static assertion failed.*: a typed_definition has another shape than the tensor of the target
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/typed_expression.hpp>
#include <reshard/plan/typed_plan.hpp>

using namespace reshard;

struct trained
    : typed_layout<mesh{{"tp", 2}}, typed_tensor<"a", float, index_vector{4, 2}, shard{0}>,
                   typed_tensor<"b", float, index_vector{4, 2}, shard{1}>> {};
struct served : typed_layout<mesh{}, typed_tensor<"ab", float, index_vector{8, 2}>> {};
using joined = typed_concat<1, typed_source_of<trained, "a">, typed_source_of<trained, "b">>;

std::size_t const bad = typed_plan<trained, served, typed_definition<"ab", joined>>::size;
