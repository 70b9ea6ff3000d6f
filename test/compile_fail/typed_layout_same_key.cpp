// expect: static assertion failed.*: a typed::layout has two tensors with the same key
// facts: "w".*actual<0.*actual<1
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/typed_layout.hpp>

using namespace reshard;

layout const bad =
    typed::layout<mesh{{"tp", 4}}, typed::tensor<"w", float, index_vector{8}, shard{0}>,
                  typed::tensor<"w", float, index_vector{9}, shard{0}>>();
