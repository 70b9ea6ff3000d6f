// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_CHECKPOINT_HPP
#define RESHARD_STORAGE_CHECKPOINT_HPP

#include <reshard/bind/shard_views.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/row_major_files.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/os/atomic_replace.hpp>
#include <reshard/os/file_bytes.hpp>
#include <reshard/storage/merged_directories.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// A checkpoint that is open for reading. Its files hold shards, as ranks do.

namespace reshard::detail {

class noted_files;

/// Runs `work`, and puts `path` at the front of its errors.
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

/// Called about once per MiB with the number of bytes that this process has processed, and the
/// total number that it will process.
using progress_function = std::function<void(index_t, index_t)>;

/// Counts the bytes done, and reports them.
class progress_count {
public:
    /// \pre `tell` outlives this object; it may be empty
    progress_count(progress_function const& tell, index_t total) : tell_(tell), all_(total) {}

    void add(std::uint64_t bytes) { reach(done_ + static_cast<index_t>(bytes)); }

    /// Sets the number of bytes done so far, and reports it.
    void reach(index_t done) {
        done_ = done;
        if (tell_)
            tell_(done_, all_);
    }

    index_t done() const { return done_; }

private:
    progress_function const& tell_;
    index_t all_;
    index_t done_ = 0;
};

/// The index of a tensor in `metadata().tensors`, and the index of a shard in that tensor.
struct shard_place {
    std::uint32_t tensor = 0;
    std::uint32_t shard = 0;

    constexpr auto operator<=>(shard_place const&) const = default;
};

/// The stored shards as views without memory, by their index in `layout_of(metadata)`.
template <class View>
shard_views<View> shapes_in_files(checkpoint_metadata const& metadata) {
    shard_views<View> views;
    views.reserve_shapes(metadata.tensors.size());
    for (std::uint32_t t = 0; t < metadata.tensors.size(); ++t) {
        checkpoint_tensor const& tensor = metadata.tensors[t];
        for (std::uint32_t i = 0; i < tensor.shards.size(); ++i)
            views.add_shape(t, i, tensor.dtype, stored_shape(tensor.shards[i]));
    }
    return views;
}

} // namespace reshard::detail

namespace reshard {

/// The options for opening a checkpoint.
struct open_options {
    detail::safetensors_options format = {};
    /// If true, files are mapped into memory, and read page by page. That is faster if the system
    /// has the pages in memory. But SIGBUS ends the program if a file is truncated meanwhile, or
    /// its disk fails; if false, both are errors. Deltas, and tensors that are deflated or not
    /// row-major, are never mapped.
    bool mapped = false;
    /// The store of the files; null: the file system.
    std::shared_ptr<file_store const> files = {};

    static constexpr void members(auto& self, auto&& visit) { visit(self.format, self.mapped); }
    static constexpr std::string_view member_names[] = {"format", "mapped"};
};

/// A checkpoint on disk, open for reading. Only the bytes that a caller needs are read.
class checkpoint {
public:
    /// \throws error as `open_checkpoint(path)` of the format; with errc::io; with
    ///         errc::corrupt_file if another process writes to a file while it is opened
    explicit checkpoint(std::filesystem::path const& path, open_options const& options = {});

    /// The checkpoint `source` with other metadata, and the store of the files that it names. For
    /// the library's own use.
    checkpoint(checkpoint const& source, checkpoint_metadata metadata,
               std::shared_ptr<file_store const> files);

    checkpoint_metadata const& metadata() const { return metadata_; }

    /// Adds warnings to `metadata().warnings`.
    void add_warnings(vector<std::string> const& texts);

    /// The layout of the shards in the files; holder `i` is file `i`. The first call computes it.
    layout const& files_layout() const;
    vector<std::string> const& file_names() const { return names_; }

    /// Views of all shards, without memory (see `shapes_in_files`). The first call computes them.
    detail::shard_views<const_tensor_view> const& shapes() const;

    /// A file that stays open as long as the checkpoint does, or null if the checkpoint has too
    /// many files.
    file_store::file const* kept_file(holder_t file) const;

    /// Reads the values that are not tensors (`metadata().objects`), except opaque values.
    ///
    /// \throws error with errc::unsupported if the checkpoint has such values, but the library
    ///         cannot read them in this format
    vector<detail::saved_object> read_objects() const;

    /// True if the library can read values that are not tensors in this format.
    bool can_read_objects() const { return static_cast<bool>(read_objects_); }

    /// Opens a file.
    ///
    /// \throws error with errc::corrupt_file if the file was written to since it was opened
    std::unique_ptr<file_store::file> open_file(holder_t file) const;

    /// The store of the checkpoint's files.
    std::shared_ptr<file_store const> const& files() const { return files_; }

    /// True if files are mapped into memory (`open_options::mapped`).
    bool is_mapped() const { return !first_bytes_.empty(); }

    /// The first byte of a mapped shard; null if the shard is not mapped.
    ///
    /// \throws error with errc::corrupt_file if the mapped file does not have the shard at the
    ///         position in the metadata
    std::byte const* mapped(detail::checkpoint_shard const& shard) const;

    /// \throws error with errc::corrupt_file if the file was written to since it was opened
    void check_unchanged(holder_t file) const;

private:
    /// The state that only readers of tensors need.
    struct views {
        std::once_flag has_layout;
        std::once_flag has_shapes;
        layout held;
        detail::shard_views<const_tensor_view> shapes;
    };

    checkpoint(std::filesystem::path const& path, open_options const& options,
               std::shared_ptr<detail::noted_files const> const& noted);

    void check_same(holder_t file, file_store::file const& now) const;

    std::shared_ptr<file_store const> files_;
    checkpoint_metadata metadata_;
    std::function<vector<detail::saved_object>(std::set<std::string, std::less<>> const&)>
        read_objects_;
    std::unique_ptr<views> views_ = std::make_unique<views>();
    /// The files that stay open, from the first on. Reads need no lookup, and get the opened file
    /// even if another file has replaced it.
    vector<std::unique_ptr<file_store::file>> kept_;
    std::list<detail::mapped_input> mapped_;
    vector<std::byte const*> first_bytes_;           ///< of each mapped file
    detail::row_major_files const* shown_ = nullptr; ///< not null if mapped files are converted
    vector<detail::file_identity> identities_;
    vector<std::string> names_;
};

/// The catalog of a checkpoint; programs need it.
RESHARD_DECL catalog catalog_of(checkpoint const& source);

namespace detail {

/// The keys of the values that are not tensors and can be read, in the checkpoint's order.
RESHARD_DECL vector<std::string> readable_keys(checkpoint_metadata const& metadata);

/// A digest of a checkpoint's tensors, file names and save id. It is the same on all ranks: it does
/// not depend on paths.
RESHARD_DECL std::uint64_t digest_of(checkpoint_metadata const& metadata);

/// The merged files of a checkpoint; null if all ranks see all files.
RESHARD_DECL std::shared_ptr<merged_directories const> united(checkpoint const& source);

/// The name of an operation on a checkpoint; ranks compare it. It contains the id of the save, or
/// the path if the checkpoint has no id.
RESHARD_DECL std::string call_on(std::string_view noun, checkpoint const& source);

/// True if all digests are equal and not 0. A rank that could not open it has the digest 0.
RESHARD_DECL bool are_same(vector<std::uint64_t> const& digests);

/// Returns the error. If another rank could open the checkpoint, the error names both ranks.
RESHARD_DECL local_error not_everywhere(local_error problem, int rank,
                                        vector<std::uint64_t> const& digests);

/// Refuses the opened checkpoints unless all ranks have the same one.
RESHARD_DECL void check_same_opened(std::filesystem::path const& path,
                                    vector<std::uint64_t> const& digests);

/// Opens the union of the files that the ranks see. Null if all ranks see the same files.
///
/// \par Collective every rank of the group, in the same order
std::unique_ptr<checkpoint> open_united(group auto const& world, std::filesystem::path const& path,
                                        open_options const& options, checkpoint const* own) {
    auto const files = merge_directories(world, options.files ? options.files : files_of_system(),
                                         path.has_filename() ? path : path.parent_path());
    if (!files)
        return nullptr;
    std::unique_ptr<checkpoint> opened;
    std::uint64_t digest = 0;
    agree_on(world, [&] {
        name_missing(world.size(), [&] {
            open_options united = options;
            united.files = files;
            opened = std::make_unique<checkpoint>(files->directory(), united);
        });
        if (own)
            check_united(own->metadata(), opened->metadata());
        digest = digest_of(opened->metadata());
    });
    check_same_opened(path, gather_values(world, digest));
    return opened;
}

} // namespace detail

/// Opens a checkpoint on every rank.
///
/// Each machine may have only some of the files, at the same path or at different paths. Then the
/// union of the files is opened, and a load gets the bytes of each file from a rank that sees it.
/// If a writer died while it replaced the checkpoint, and the file system cannot exchange two
/// directories in one step, the first rank completes the replacement.
///
/// \par Collective every rank of the group, in the same order
/// \throws error of the lowest failing rank, on every rank; errc::ranks_disagree if two ranks open
///         different files; errc::missing_file for a file that no rank sees
checkpoint open_checkpoint(group auto const& world, std::filesystem::path const& path,
                           open_options const& options = {}) {
    std::unique_ptr<checkpoint> opened;
    std::uint64_t digest = 0;
    agree_on(world, [&] {
        if (world.rank() == 0 && !options.files)
            detail::finish_replacement(path.has_filename() ? path : path.parent_path());
    });
    detail::local_error const problem = detail::attempt([&] {
        opened = std::make_unique<checkpoint>(path, options);
        if (world.size() > 1)
            digest = detail::digest_of(opened->metadata());
    });
    if (world.size() == 1 && opened) // a digest of a million tensors is slow
        return std::move(*opened);
    detail::agree_to_run(world, "open a checkpoint", {"options", options});
    auto const digests = detail::gather_values(world, digest);
    if (detail::are_same(digests))
        return std::move(*opened);
    if (auto united = detail::open_united(world, path, options, opened.get()))
        return std::move(*united);
    agree(world, detail::not_everywhere(problem, world.rank(), digests));
    detail::check_same_opened(path, digests);
    return std::move(*opened);
}

/// The same over a communicator.
///
/// \par Collective every rank of the group, in the same order
RESHARD_DECL checkpoint open_checkpoint(mpi_group const& world, std::filesystem::path const& path,
                                        open_options const& options = {});

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/checkpoint.ipp>
#endif

#endif
