// expect: static assertion failed.*: a typed::shard needs a key
// facts: ""
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed.hpp>

using namespace reshard;
using namespace reshard::detail;

shard_descriptor const bad = typed::shard<"", float, index_vector{4}, box{{0}, {4}}>();
