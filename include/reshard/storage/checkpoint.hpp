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
#include <reshard/os/file_bytes.hpp>
#include <reshard/storage/leftovers.hpp>

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

/// A shard of `metadata().tensors[tensor]`.
struct shard_place {
    std::uint32_t tensor = 0;
    std::uint32_t shard = 0;

    bool operator==(shard_place const&) const = default;
};

/// Tensors without memory that stand for the shards in files, found by their place in
/// `layout_of(metadata)`: places in them are counted from the shard's first element.
template <class View>
shard_views<View> shapes_in_files(checkpoint_metadata const& metadata) {
    shard_views<View> views;
    for (std::uint32_t t = 0; t < metadata.tensors.size(); ++t) {
        checkpoint_tensor const& tensor = metadata.tensors[t];
        for (std::uint32_t i = 0; i < tensor.shards.size(); ++i) {
            index_vector const shape = stored_shape(tensor.shards[i]);
            views.add(t, i, View{nullptr, tensor.dtype, shape, row_major_strides(shape)});
        }
    }
    return views;
}

} // namespace reshard::detail

namespace reshard {

/// How a checkpoint is opened.
struct open_options {
    detail::safetensors_options format = {};
    /// Files are read as memory, page by page as they are needed. Faster where pages are in memory
    /// and mapped already; but a file that is cut while it is read, or a medium that fails, ends
    /// the program with the signal SIGBUS. By default both are errors.
    bool mapped = false;

    static constexpr void members(auto& self, auto&& visit) { visit(self.format, self.mapped); }
};

/// A checkpoint on disk, open for reading: what is not used is not read.
class checkpoint {
public:
    /// \throws error as `open_checkpoint(path)` of the format, and with errc::io
    explicit checkpoint(std::filesystem::path const& path, open_options const& how = {});

    checkpoint_metadata const& metadata() const { return metadata_; }

    /// Adds to what was noticed when it was opened.
    void add_warnings(std::vector<std::string> const& texts) {
        metadata_.warnings.insert(metadata_.warnings.end(), texts.begin(), texts.end());
    }

    /// Who holds what; holder `i` is file `i`. It stays where it is when the checkpoint is moved.
    layout const& files_layout() const { return *held_; }
    std::vector<std::string> const& file_names() const { return names_; }

    /// All shards, without memory (see `shapes_in_files`).
    detail::shard_views<const_tensor_view> const& shapes() const { return shapes_; }

    /// A file that stays open as long as the checkpoint does, or null where it has too many files.
    detail::input_file const* kept_file(holder_t file) const;

    /// Opens a file.
    ///
    /// \throws error with errc::corrupt_file where it is another one than when the checkpoint was
    ///         opened, or was written to since
    detail::input_file open_file(holder_t file) const;

    /// The first byte of a file that is mapped, or null.
    std::byte const* mapped(holder_t file) const;

    /// \throws error with errc::corrupt_file where a file was written to since the checkpoint was
    ///         opened
    void check_unchanged(holder_t file) const;

private:
    void check_same(holder_t file, detail::input_file const& now) const;

    checkpoint_metadata metadata_;
    std::unique_ptr<layout> held_;
    /// The first files: reading one needs no look-up of its name, and sees the file that was opened
    /// even where a new checkpoint took its place.
    std::vector<detail::input_file> kept_;
    std::list<detail::mapped_input> mapped_;
    std::vector<std::byte const*> first_bytes_; ///< of each file that is mapped
    std::vector<detail::file_identity> identities_;
    std::vector<std::string> names_;
    detail::shard_views<const_tensor_view> shapes_;
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
/// Where a writer died while it replaced the checkpoint, and the file system could not exchange the
/// old one and the new one in one step, the first rank puts the new one in place.
///
/// \par Collective every rank of the group, in the same order
/// \throws error the lowest failing rank's, on every rank alike; errc::ranks_disagree where ranks
///         see different files
checkpoint open_checkpoint(group auto const& world, std::filesystem::path const& path,
                           open_options const& how = {}) {
    std::unique_ptr<checkpoint> opened;
    std::uint64_t digest = 0;
    agree_on(world, [&] {
        if (world.rank() == 0)
            detail::finish_replacement(path.has_filename() ? path : path.parent_path());
    });
    detail::local_error const problem = detail::attempt([&] {
        opened = std::make_unique<checkpoint>(path, how);
        digest = detail::digest_of(opened->metadata());
    });
    detail::agree_to_run(world, "open " + path.string(), detail::digest_of(how), problem);
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
