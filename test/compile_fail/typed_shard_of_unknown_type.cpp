// expect: static assertion failed.*: the element type of a typed::shard has no data type
// facts: "w".*colour
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed.hpp>

using namespace reshard;
using namespace reshard::detail;

struct colour {};

shard_descriptor const bad = typed::shard<"w", colour, index_vector{4}, box{{0}, {4}}>();
