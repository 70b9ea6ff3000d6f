// expect: static assertion failed.*: the mesh of a typed::layout has no such rank
// facts: wanted<4.*actual<4|"tp", 4.*, 4,
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed_facts.hpp>

using namespace reshard;
using namespace reshard::detail;

using job = typed::layout<mesh{{"tp", 4}}, typed::tensor<"w", float, index_vector{8}, shard{0}>>;

auto const bad = typed::state_dict_of<job, 4>();
