// expect: static assertion failed.*: a typed::state_dict has one key with two global shapes
// facts: "w".*on_axis<0.*wanted<4.*actual<8
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed.hpp>

using namespace reshard;
using namespace reshard::detail;

// The two shards of "w" are not side by side, and the keys between them are no excuse.
auto const bad = typed::state_dict<typed::shard<"w", float, index_vector{4}, box{{0}, {2}}>,
                                   typed::shard<"v", float, index_vector{4}, box{{0}, {2}}>,
                                   typed::shard<"w", float, index_vector{8}, box{{2}, {2}}>>();
