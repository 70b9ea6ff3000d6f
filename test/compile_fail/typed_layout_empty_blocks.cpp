// expect: static assertion failed.*: blocks of a typed::tensor must have elements
// facts: "w".*on_axis<0.*"tp".*wanted<0.*actual<1
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/typed_layout.hpp>

using namespace reshard;

layout const bad = typed::layout<mesh{{"tp", 4}},
                                 typed::tensor<"w", float, index_vector{8}, block_cyclic{0, 0}>>();
