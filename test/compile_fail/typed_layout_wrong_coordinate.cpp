// expect: static assertion failed.*: a placement names a coordinate that its mesh axis does not have
// facts: "w".*"tp".*wanted<4.*actual<4
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/typed_layout.hpp>

using namespace reshard;

layout const bad =
    typed::layout<mesh{{"tp", 4}}, typed::tensor<"w", float, index_vector{8}, only{4}>>();
