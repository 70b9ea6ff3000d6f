// expect: static assertion failed.*: a typed_state_dict is a list of shard types
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed.hpp>

using namespace reshard;

auto const bad = typed_state_dict<int>();
