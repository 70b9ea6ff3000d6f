// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_IMPL_FULLY_SHARD_IPP
#define RESHARD_MODEL_IMPL_FULLY_SHARD_IPP

#include <reshard/model/fully_shard.hpp>

namespace reshard::model {

RESHARD_DECL tensor_sharding fully_shard(tensor_sharding tensor, std::string_view mesh_axis,
                                         std::size_t axis) {
    for (std::size_t i = 0; i < tensor.parts.size(); ++i) {
        if (i > 0 && !tensor.parts[i].is_copy)
            fail(errc::bad_layout, "'", tensor.key, "' has ",
                 detail::counted(tensor.parts.size(), "part"),
                 "; only a tensor of one part can be fully sharded");
        tensor.parts[i].spread = fully_shard(tensor.parts[i].spread, mesh_axis, tensor.key, axis);
    }
    return tensor;
}

} // namespace reshard::model

#endif
