// expect: static assertion failed.*: the global shape of a typed::shard has a negative extent or too many elements
// facts: "w".*4294967296, 4294967296
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed.hpp>

using namespace reshard;
using namespace reshard::detail;

constexpr index_t many = 4294967296;

shard_descriptor const bad =
    typed::shard<"w", float, index_vector{many, many}, box{{0, 0}, {1, 1}}>();
