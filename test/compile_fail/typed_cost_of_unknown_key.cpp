// expect: static assertion failed.*: a tensor of the target is neither in the source nor defined
// facts: "b".*actual<4.*2
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/typed.hpp>

using namespace reshard;

struct trained
    : typed::layout<mesh{{"tp", 2}}, typed::tensor<"a", float, index_vector{4, 2}, shard{0}>> {};
struct served : typed::layout<mesh{}, typed::tensor<"b", float, index_vector{4, 2}>> {};

constexpr index_t bad = cost_of<typed::plan<trained, served>>().bytes;
