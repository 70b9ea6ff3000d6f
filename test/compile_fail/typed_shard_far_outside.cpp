// expect: static assertion failed.*: the region of a typed::shard must lie inside its global shape
// facts: "w".*9223372036854775807
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed.hpp>

using namespace reshard;
using namespace reshard::detail;

shard_descriptor const bad =
    typed::shard<"w", float, index_vector{4}, box{{9223372036854775807}, {9223372036854775807}}>();
