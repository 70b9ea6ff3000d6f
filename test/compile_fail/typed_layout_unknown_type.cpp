// expect: static assertion failed.*: the element type of a typed::tensor has no data type
// facts: "w".*colour
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/typed_layout.hpp>

using namespace reshard;

struct colour {};

layout const bad =
    typed::layout<mesh{{"tp", 4}}, typed::tensor<"w", colour, index_vector{8}, shard{0}>>();
