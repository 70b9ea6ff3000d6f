// expect: static assertion failed.*: a tensor of the target is defined twice
// facts: "c".*actual<0.*actual<1
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/typed_plan.hpp>

using namespace reshard;

struct trained
    : typed::layout<mesh{{"tp", 2}}, typed::tensor<"a", float, index_vector{4, 2}, shard{0}>,
                    typed::tensor<"b", float, index_vector{4, 2}, shard{1}>> {};
struct served : typed::layout<mesh{}, typed::tensor<"c", float, index_vector{4, 2}>> {};

std::size_t const bad =
    typed::plan<trained, served, typed::definition<"c", typed::source_of<trained, "a">>,
                typed::definition<"c", typed::source_of<trained, "b">>>::size;
