// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LOCAL_DESCRIPTORS_HPP
#define RESHARD_LOCAL_DESCRIPTORS_HPP

#include <reshard/tensor/state_dict.hpp>

#include <vector>

/// \file
/// What a state dict says of itself to others.

namespace reshard {

/// The descriptors of all shards, in their order.
template <class View>
std::vector<shard_descriptor> descriptors_of(basic_state_dict<View> const& held) {
    std::vector<shard_descriptor> shards;
    shards.reserve(held.size());
    for (auto const& local : held)
        shards.push_back(local.descriptor);
    return shards;
}

} // namespace reshard

#endif
