// expect: static assertion failed.*: the flat range of a typed::flat_shard must lie inside its region
// facts: "w".*flat_range{2, 5}
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed.hpp>

using namespace reshard;
using namespace reshard::detail;

using whole_shard = typed::shard<"w", float, index_vector{4}, box{{0}, {4}}>;

shard_descriptor const bad = typed::flat_shard<whole_shard, flat_range{2, 5}>();
