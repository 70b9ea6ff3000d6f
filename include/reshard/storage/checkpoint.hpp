// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_CHECKPOINT_HPP
#define RESHARD_STORAGE_CHECKPOINT_HPP

#include <reshard/core/hasher.hpp>
#include <reshard/format/checkpoint.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/os/mapped_file.hpp>
#include <reshard/storage/file_views.hpp>

#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A checkpoint that is open for reading: its files are holders of shards, as ranks are.

namespace reshard {

/// A checkpoint on disk, mapped into memory: what is not used is not read.
class checkpoint {
public:
    /// \throws error as `open_checkpoint(path)` of the format, and with errc::io
    explicit checkpoint(std::filesystem::path const& path, safetensors_options const& options = {})
        : metadata_(open_checkpoint(path, options)),
          held_(std::make_unique<layout>(layout_of(metadata_))) {
        std::vector<std::byte const*> files;
        for (checkpoint_file const& file : metadata_.files) {
            inputs_.emplace_back(file.path);
            if (inputs_.back().bytes() != file.bytes)
                fail(errc::corrupt_file, file.path.string() +
                                             ": the file changed while it was opened, from " +
                                             std::to_string(file.bytes) + " bytes to " +
                                             std::to_string(inputs_.back().bytes()));
            files.push_back(inputs_.back().data());
            names_.push_back(file.path.string());
        }
        views_ = views_in_files<const_tensor_view>(metadata_, files);
    }

    checkpoint_metadata const& metadata() const { return metadata_; }

    /// Who holds what; holder `i` is file `i`. It stays where it is when the checkpoint is moved.
    layout const& files_layout() const { return *held_; }
    std::vector<std::string> const& file_names() const { return names_; }

    /// All tensors, found by shard.
    shard_views<const_tensor_view> const& views() const { return views_; }

    /// Shard `shard` of tensor `tensor` of the metadata.
    const_tensor_view const& view(std::size_t tensor, std::size_t shard) const {
        return views_.at(static_cast<std::uint32_t>(tensor), static_cast<std::uint32_t>(shard));
    }

private:
    checkpoint_metadata metadata_;
    std::unique_ptr<layout> held_;
    std::list<mapped_input> inputs_;
    std::vector<std::string> names_;
    shard_views<const_tensor_view> views_;
};

/// The catalog of a checkpoint, for programs.
inline catalog catalog_of(checkpoint const& source) { return catalog_of(source.files_layout()); }

/// A digest of what a checkpoint says of itself, to see that all ranks opened the same one. Not of all members:
/// ranks may see it at different paths, and what files say beside their tensors moves nothing.
inline std::uint64_t digest_of(checkpoint_metadata const& metadata) {
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

/// Opens a checkpoint on every rank.
///
/// \par Collective every rank of the group, in the same order
/// \throws error the lowest failing rank's, on every rank alike; errc::ranks_disagree where ranks see
///         different files
template <group Group>
checkpoint open_checkpoint(Group const& world, std::filesystem::path const& path,
                           safetensors_options const& options = {}) {
    std::unique_ptr<checkpoint> opened;
    std::uint64_t digest = 0;
    local_error const problem = attempt([&] {
        opened = std::make_unique<checkpoint>(path, options);
        digest = digest_of(opened->metadata());
    });
    agree_to_run(world, "open " + path.string(), digest_of(options), problem);
    auto const all = gather_values(world, digest);
    for (std::size_t rank = 1; rank < all.size(); ++rank)
        if (all[rank] != all[0])
            fail(errc::ranks_disagree, path.string() + ": rank 0 and rank " + std::to_string(rank) +
                                           " see different files; is it one directory for both?");
    return std::move(*opened);
}

} // namespace reshard

#endif
