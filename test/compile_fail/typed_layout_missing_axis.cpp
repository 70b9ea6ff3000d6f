// expect: static assertion failed.*: a placement cuts an axis that the typed::tensor does not have
// facts: "w".*on_axis<1.*"tp".*wanted<1.*actual<1
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/typed_layout.hpp>

using namespace reshard;

layout const bad =
    typed::layout<mesh{{"tp", 4}}, typed::tensor<"w", float, index_vector{8}, shard{1}>>();
