// expect: static assertion failed.*: the region of a typed_shard must lie inside its global shape
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed.hpp>

using namespace reshard;

shard_descriptor const bad = typed_shard<"w", float, index_vector{4}, box{{2}, {3}}>();
