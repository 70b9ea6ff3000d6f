// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_CHECKPOINT_METADATA_IPP
#define RESHARD_FORMAT_IMPL_CHECKPOINT_METADATA_IPP

#include <reshard/format/checkpoint_metadata.hpp>

#include <utility>

namespace reshard {

RESHARD_DECL layout layout_of(checkpoint_metadata const& checkpoint) {
    detail::layout_builder made(static_cast<holder_t>(checkpoint.files.size()));
    made.reserve(checkpoint.tensors.size());
    for (detail::checkpoint_tensor const& tensor : checkpoint.tensors) {
        detail::shard_table shards(tensor.shape.size());
        for (detail::checkpoint_shard const& shard : tensor.shards)
            shards.push_back(shard.file, shard.region, shard.flat);
        made.add(tensor.key, tensor.dtype, {tensor.shape, std::move(shards)});
    }
    layout all = std::move(made).take();
    all.fused = checkpoint.fused;
    return all;
}

} // namespace reshard

#endif
