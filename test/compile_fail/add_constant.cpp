// expect first: static assertion failed.*: a state_dict is written to, and this tensor or its elements are const
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/span.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <vector>

using namespace reshard;

void add(state_dict& want, shard_descriptor const& shard, std::vector<float> const& elements) {
    want.add(shard, elements);
}
