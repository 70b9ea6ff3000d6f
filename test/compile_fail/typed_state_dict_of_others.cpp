// expect: static assertion failed.*: a typed::state_dict must be a list of shard types
// facts: int
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed.hpp>

using namespace reshard;
using namespace reshard::detail;

auto const bad = typed::state_dict<int>();
