// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_CHECKPOINT_WRITER_IPP
#define RESHARD_STORAGE_IMPL_CHECKPOINT_WRITER_IPP

#include <reshard/storage/checkpoint_writer.hpp>

#include <reshard/core/config.hpp>
#include <reshard/storage/file_views.hpp>

#include <cstring>
#include <string>

namespace reshard::detail {

RESHARD_DECL state_dict checkpoint_writer::tensors() const {
    state_dict all;
    for (checkpoint_tensor const& tensor : plan_.metadata.tensors)
        for (checkpoint_shard const& shard : tensor.shards)
            if (std::byte* const file = files_[shard.file])
                all.add({tensor.key, tensor.dtype, tensor.shape, shard.region, shard.flat},
                        view_in_file<tensor_view>(tensor, shard, file));
    return all;
}

RESHARD_DECL void checkpoint_writer::create(holder_t number) {
    checkpoint_file const& file = plan_.metadata.files[number];
    std::string const& header = plan_.headers[number];
    outputs_.emplace_back(directory_.path() / file.path, static_cast<std::size_t>(file.bytes));
    files_[number] = outputs_.back().data();
    std::memcpy(files_[number], header.data(), header.size());
}

} // namespace reshard::detail

#endif
