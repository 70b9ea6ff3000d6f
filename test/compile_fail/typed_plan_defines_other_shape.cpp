// expect: static assertion failed.*: a typed::definition has a different shape from the tensor of the target
// facts: "ab".*on_axis<0.*wanted<8.*2.*actual<4.*4
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/typed_expression.hpp>
#include <reshard/plan/typed_plan.hpp>

using namespace reshard;

struct trained
    : typed::layout<mesh{{"tp", 2}}, typed::tensor<"a", float, index_vector{4, 2}, shard{0}>,
                    typed::tensor<"b", float, index_vector{4, 2}, shard{1}>> {};
struct served : typed::layout<mesh{}, typed::tensor<"ab", float, index_vector{8, 2}>> {};
using joined = typed::concat<1, typed::source_of<trained, "a">, typed::source_of<trained, "b">>;

std::size_t const bad = typed::plan<trained, served, typed::definition<"ab", joined>>::size;
