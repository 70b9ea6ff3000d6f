// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_WHOLE_TENSORS_IPP
#define RESHARD_STORAGE_IMPL_WHOLE_TENSORS_IPP

#include <reshard/storage/whole_tensors.hpp>

namespace reshard::detail {

RESHARD_DECL std::map<std::string, const_state_dict, std::less<>>
shards_by_key(const_state_dict const& shards) {
    std::map<std::string, const_state_dict, std::less<>> found;
    for (const_local_shard const& shard : shards)
        found[shard.descriptor.key].add(shard.descriptor, shard.tensor);
    return found;
}

RESHARD_DECL whole_tensor::whole_tensor(tensor_layout const& tensor)
    : bytes_(static_cast<std::size_t>(byte_count(element_count(tensor.shape), tensor.dtype))),
      descriptor_{tensor.key, tensor.dtype, tensor.shape, reshard::whole(tensor.shape), {}} {}

RESHARD_DECL tensor_view whole_tensor::view() {
    return {bytes_.data(), descriptor_.dtype, descriptor_.global_shape,
            row_major_strides(descriptor_.global_shape)};
}

} // namespace reshard::detail

#endif
