// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_CHECKPOINT_IPP
#define RESHARD_STORAGE_IMPL_CHECKPOINT_IPP

#include <reshard/storage/checkpoint.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/format/checkpoint.hpp>

namespace reshard {

RESHARD_DECL checkpoint::checkpoint(std::filesystem::path const& path,
                                    detail::safetensors_options const& options)
    : metadata_(open_checkpoint(path, options)),
      held_(std::make_unique<layout>(layout_of(metadata_))) {
    for (detail::checkpoint_file const& file : metadata_.files) {
        inputs_.emplace_back(file.path);
        if (inputs_.back().bytes() != file.bytes)
            fail(errc::corrupt_file, file.path.string(),
                 ": the file changed while it was opened, from ", file.bytes, " bytes to ",
                 inputs_.back().bytes());
        files_.push_back(inputs_.back().data());
        names_.push_back(file.path.string());
    }
    views_ = detail::views_in_files<const_tensor_view>(metadata_, files_);
}

RESHARD_DECL const_tensor_view const& checkpoint::view(std::size_t tensor,
                                                       std::size_t shard) const {
    return views_.at(static_cast<std::uint32_t>(tensor), static_cast<std::uint32_t>(shard));
}

RESHARD_DECL catalog catalog_of(checkpoint const& source) {
    return catalog_of(source.files_layout());
}

namespace detail {

RESHARD_DECL std::uint64_t digest_of(checkpoint_metadata const& metadata) {
    hasher digest;
    for (checkpoint_file const& file : metadata.files) {
        digest.add(file.path.filename().string());
        digest.add(file.bytes);
    }
    for (checkpoint_tensor const& tensor : metadata.tensors) {
        digest.add(tensor.key);
        digest.add(static_cast<std::uint64_t>(tensor.dtype));
        digest.add(tensor.shape);
        for (checkpoint_shard const& shard : tensor.shards) {
            flat_range const flat = shard.flat.value_or(flat_range{-1, -1});
            digest.add(index_vector{shard.file, flat.begin, flat.end});
            digest.add(shard.region.offset);
            digest.add(shard.region.shape);
            digest.add(shard.begin);
        }
    }
    return digest.value();
}

} // namespace detail

} // namespace reshard

#endif
