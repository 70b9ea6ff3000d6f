// expect: static assertion failed.*: the shape of a typed::tensor has a negative extent or too many elements
// facts: "w".*actual<8.*-2
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/typed_layout.hpp>

using namespace reshard;

layout const bad =
    typed::layout<mesh{{"tp", 4}}, typed::tensor<"w", float, index_vector{8, -2}, shard{0}>>();
