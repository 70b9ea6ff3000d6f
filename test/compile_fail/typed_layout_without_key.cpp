// expect: static assertion failed.*: a typed::tensor needs a key
// facts: "".*actual<8
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/typed_layout.hpp>

using namespace reshard;

layout const bad =
    typed::layout<mesh{{"tp", 4}}, typed::tensor<"", float, index_vector{8}, shard{0}>>();
