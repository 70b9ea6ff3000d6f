// expect: static assertion failed.*: the region of a typed::shard must have as many axes
// facts: "w".*(wanted<2.*actual<1|4, 4.*{4})
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed.hpp>

using namespace reshard;
using namespace reshard::detail;

shard_descriptor const bad = typed::shard<"w", float, index_vector{4, 4}, box{{0}, {4}}>();
