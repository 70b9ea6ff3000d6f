// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_CHECKPOINT_HPP
#define RESHARD_STORAGE_CHECKPOINT_HPP

#include <reshard/bind/shard_views.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/os/mapped_file.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// A checkpoint that is open for reading: its files are holders of shards, as ranks are.

namespace reshard::detail {

/// Runs `work`; an error of it begins with `path`.
template <class Work>
void at_path(std::filesystem::path const& path, Work&& work) {
    try {
        std::forward<Work>(work)();
    } catch (error const& problem) {
        std::string const name = path.string();
        if (std::string_view(problem.what()).starts_with(name))
            throw;
        fail(problem.code(), name, ": ", problem.what());
    }
}

/// A shard of a file as a tensor; `file` is the file's first byte.
template <class View, class Byte>
View view_in_file(checkpoint_tensor const& tensor, checkpoint_shard const& shard, Byte* file) {
    index_vector const shape = shard.flat ? index_vector{shard.flat->size()} : shard.region.shape;
    return View{file + shard.begin, tensor.dtype, shape, row_major_strides(shape)};
}

/// The shards of the files that are there, found by their place in `layout_of(metadata)`.
///
/// `files[i]` is the first byte of file `i`, or null where this process does not have it.
template <class View, class Byte>
shard_views<View> views_in_files(checkpoint_metadata const& metadata,
                                 std::vector<Byte*> const& files) {
    shard_views<View> views;
    for (std::uint32_t t = 0; t < metadata.tensors.size(); ++t) {
        checkpoint_tensor const& tensor = metadata.tensors[t];
        for (std::uint32_t i = 0; i < tensor.shards.size(); ++i)
            if (Byte* const file = files[tensor.shards[i].file])
                views.add(t, i, view_in_file<View>(tensor, tensor.shards[i], file));
    }
    return views;
}

} // namespace reshard::detail

namespace reshard {

/// A checkpoint on disk, mapped into memory: what is not used is not read.
class checkpoint {
public:
    /// \throws error as `open_checkpoint(path)` of the format, and with errc::io
    explicit checkpoint(std::filesystem::path const& path,
                        detail::safetensors_options const& options = {});

    checkpoint_metadata const& metadata() const { return metadata_; }

    /// Who holds what; holder `i` is file `i`. It stays where it is when the checkpoint is moved.
    layout const& files_layout() const { return *held_; }
    std::vector<std::string> const& file_names() const { return names_; }

    /// All tensors, found by shard.
    detail::shard_views<const_tensor_view> const& views() const { return views_; }

    /// The first byte of a file.
    ///
    /// \pre `file < metadata().files.size()`
    std::byte const* bytes(holder_t file) const { return files_[file]; }

    /// Shard `shard` of tensor `tensor` of the metadata.
    const_tensor_view const& view(std::size_t tensor, std::size_t shard) const;

private:
    checkpoint_metadata metadata_;
    std::unique_ptr<layout> held_;
    std::list<detail::mapped_input> inputs_;
    std::vector<std::byte const*> files_; ///< the first byte of each
    std::vector<std::string> names_;
    detail::shard_views<const_tensor_view> views_;
};

/// The catalog of a checkpoint, for programs.
RESHARD_DECL catalog catalog_of(checkpoint const& source);

namespace detail {

/// A digest of what a checkpoint says of itself, to see that all ranks opened the same one. Not of
/// all members: ranks may see it at different paths, and what files say beside their tensors moves
/// nothing.
RESHARD_DECL std::uint64_t digest_of(checkpoint_metadata const& metadata);

} // namespace detail

/// Opens a checkpoint on every rank.
///
/// \par Collective every rank of the group, in the same order
/// \throws error the lowest failing rank's, on every rank alike; errc::ranks_disagree where ranks
///         see different files
checkpoint open_checkpoint(group auto const& world, std::filesystem::path const& path,
                           detail::safetensors_options const& options = {}) {
    std::unique_ptr<checkpoint> opened;
    std::uint64_t digest = 0;
    detail::local_error const problem = detail::attempt([&] {
        opened = std::make_unique<checkpoint>(path, options);
        digest = detail::digest_of(opened->metadata());
    });
    detail::agree_to_run(world, "open " + path.string(), detail::digest_of(options), problem);
    auto const all = detail::gather_values(world, digest);
    for (std::size_t rank = 1; rank < all.size(); ++rank)
        if (all[rank] != all[0])
            fail(errc::ranks_disagree, path.string(), ": rank 0 and rank ", rank,
                 " see different files; do they share this directory?");
    return std::move(*opened);
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/checkpoint.ipp>
#endif

#endif
