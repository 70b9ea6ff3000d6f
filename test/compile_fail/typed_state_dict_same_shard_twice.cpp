// expect: static assertion failed.*: a typed::state_dict has the same shard twice
// facts: "w".*{0.*{2
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed.hpp>

using namespace reshard;
using namespace reshard::detail;

auto const bad = typed::state_dict<typed::shard<"w", float, index_vector{4}, box{{0}, {2}}>,
                                   typed::shard<"w", float, index_vector{4}, box{{2}, {2}}>,
                                   typed::shard<"w", float, index_vector{4}, box{{0}, {2}}>>();
