// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_DESCRIPTOR_IPP
#define RESHARD_LAYOUT_IMPL_DESCRIPTOR_IPP

#include <reshard/layout/descriptor.hpp>

namespace reshard {

RESHARD_DECL std::string to_string(shard_descriptor const& shard) {
    return shard.key + ": " + std::string(name(shard.dtype)) + " " + to_string(shard.global_shape) +
           " " + to_string(shard.region) + (shard.flat ? " flat " + to_string(*shard.flat) : "") +
           to_string(shard.cycles);
}

} // namespace reshard

#endif
