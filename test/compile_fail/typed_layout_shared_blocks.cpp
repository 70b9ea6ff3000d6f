// expect: static assertion failed.*: a typed::tensor with cyclic blocks cannot use typed::flat_share
// facts: "w".*actual<8L?, 2
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/typed_layout.hpp>

using namespace reshard;

layout const bad = typed::layout<
    mesh{{"dp", 2}, {"tp", 2}},
    typed::tensor<"w", float, index_vector{8, 2}, typed::flat_share{}, block_cyclic{0, 2}>>();
