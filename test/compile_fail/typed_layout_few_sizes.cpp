// expect: static assertion failed.*: a typed::tensor needs one explicit size for each rank
// facts: "w".*on_axis<0.*"tp".*wanted<2.*actual<4
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/typed_layout.hpp>

using namespace reshard;
using namespace reshard::detail;

layout const bad =
    typed::layout<mesh{{"tp", 4}}, typed::tensor<"w", float, index_vector{8}, shard{0, {4, 4}}>>();
