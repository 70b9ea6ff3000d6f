// expect first: static assertion failed.*: this type is not a tensor: include its header of reshard/adapt/, or specialise reshard::tensor_traits
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/tensor/state_dict.hpp>

using namespace reshard;

struct matrix {};

void add(const_state_dict& have, shard_descriptor const& shard, matrix const& elements) {
    have.add(shard, elements);
}
