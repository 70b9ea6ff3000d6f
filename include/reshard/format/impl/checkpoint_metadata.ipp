// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_CHECKPOINT_METADATA_IPP
#define RESHARD_FORMAT_IMPL_CHECKPOINT_METADATA_IPP

#include <reshard/format/checkpoint_metadata.hpp>

namespace reshard {

RESHARD_DECL layout layout_of(checkpoint_metadata const& checkpoint) {
    layout result{static_cast<holder_t>(checkpoint.files.size()), {}};
    for (detail::checkpoint_tensor const& tensor : checkpoint.tensors) {
        result.tensors.push_back(
            {tensor.key, tensor.dtype, tensor.shape, detail::shard_table(tensor.shape.size())});
        for (detail::checkpoint_shard const& shard : tensor.shards)
            result.tensors.back().shards.push_back(shard.file, shard.region, shard.flat);
    }
    return result;
}

} // namespace reshard

#endif
