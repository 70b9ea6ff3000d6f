// expect: static assertion failed.*: a typed::state_dict has one key with two data types
// facts: "w".*wanted<.*f32.*actual<.*f64
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed.hpp>

using namespace reshard;
using namespace reshard::detail;

auto const bad = typed::state_dict<typed::shard<"w", float, index_vector{4}, box{{0}, {2}}>,
                                   typed::shard<"w", double, index_vector{4}, box{{2}, {2}}>>();
