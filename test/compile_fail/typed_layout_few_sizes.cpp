// expect: static assertion failed.*: explicit sizes of a typed::tensor must be one for each rank
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed_layout.hpp>

using namespace reshard;
using namespace reshard::detail;

layout const bad =
    typed::layout<mesh{{"tp", 4}},
                  typed::tensor<"w", float, index_vector{8}, shard_sizes{0, {4, 4}}>>();
