// expect: static assertion failed.*: no placement may cut an axis of a typed::tensor after block_cyclic
// facts: "w".*on_axis<0.*"tp".*wanted<0.*actual<0
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/typed_layout.hpp>

using namespace reshard;

layout const bad =
    typed::layout<mesh{{"dp", 2}, {"tp", 2}},
                  typed::tensor<"w", float, index_vector{8}, block_cyclic{0, 2}, shard{0}>>();
