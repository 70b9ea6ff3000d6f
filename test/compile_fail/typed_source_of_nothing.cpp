// expect: static assertion failed.*: typed::source_of names a tensor that the layout does not have
// facts: trained.*"c"
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/typed_plan.hpp>

using namespace reshard;

struct trained
    : typed::layout<mesh{{"tp", 2}}, typed::tensor<"a", float, index_vector{4, 2}, shard{0}>,
                    typed::tensor<"b", float, index_vector{4, 2}, shard{1}>> {};
using bad = typed::source_of<trained, "c">;

index_vector const shape = bad::shape;
