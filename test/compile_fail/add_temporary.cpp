// expect first: static assertion failed.*: this temporary owns its elements, which are gone after the call
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/span.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <vector>

using namespace reshard;

void add(state_dict& want, shard_descriptor const& shard) {
    want.add(shard, std::vector<float>(6));
}
