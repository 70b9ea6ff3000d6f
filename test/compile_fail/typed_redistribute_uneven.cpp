// expect: static assertion failed.*: an even split of a typed::tensor must divide the extent
// facts: "a".*on_axis<0.*"tp".*wanted<2.*actual<5
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/typed.hpp>

using namespace reshard;

struct trained : typed::layout<mesh{{"tp", 2}},
                               typed::tensor<"a", float, index_vector{5, 2}, shard{0, even}>> {};
struct served : typed::layout<mesh{}, typed::tensor<"a", float, index_vector{5, 2}>> {};

void move(const_state_dict const& have, state_dict const& want) {
    redistribute<typed::plan<trained, served>>(solo(), have, want);
}

static_assert(typed::is_covered<trained> && cost_of<typed::plan<trained, served>>().bytes > 0);
