// expect: static assertion failed.*: a tensor of the target has a different shape from the source tensor of the same key
// facts: "a".*on_axis<1.*wanted<4.*3.*actual<4.*2
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/typed.hpp>

using namespace reshard;

struct trained
    : typed::layout<mesh{{"tp", 2}}, typed::tensor<"a", float, index_vector{4, 3}, shard{0}>> {};
struct served : typed::layout<mesh{}, typed::tensor<"a", float, index_vector{4, 2}>> {};

void move(const_state_dict const& have, state_dict const& want) {
    redistribute<typed::plan<trained, served>>(solo(), have, want);
}
