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
#include <reshard/os/file_bytes.hpp>
#include <reshard/storage/merged_directories.hpp>
#include <reshard/storage/stale_files.hpp>

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
/// A checkpoint that is open for reading: its files are holders of shards, as ranks are.

namespace reshard::detail {

class noted_files;

/// Runs `work`; its errors begin with `path`.
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

/// Called after each MiB or so with the bytes that this process has done, and with all its bytes.
using progress_function = std::function<void(index_t, index_t)>;

/// Counts the bytes done, and reports them.
class progress_count {
public:
    /// \pre `tell` outlives this object; it may be empty
    progress_count(progress_function const& tell, index_t total) : tell_(tell), all_(total) {}

    void add(std::uint64_t bytes) { reach(done_ + static_cast<index_t>(bytes)); }

    /// The same with the number of bytes done so far.
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

/// A shard of `metadata().tensors[tensor]`.
struct shard_place {
    std::uint32_t tensor = 0;
    std::uint32_t shard = 0;

    constexpr auto operator<=>(shard_place const&) const = default;
};

/// The shards in files as tensors without memory, by their index in `layout_of(metadata)`.
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

/// How a checkpoint is opened.
struct open_options {
    detail::safetensors_options format = {};
    /// Files are mapped into memory, and read page by page. That is faster if pages are in memory
    /// already. But if a file is truncated while it is read, or its medium fails, the signal SIGBUS
    /// ends the program. By default both are errors. The files of a delta are not mapped. Neither
    /// are tensors that are deflated, or not row-major.
    bool mapped = false;
    /// The store of the files; null: the file system.
    std::shared_ptr<file_store const> files = {};

    static constexpr void members(auto& self, auto&& visit) { visit(self.format, self.mapped); }
    static constexpr std::string_view member_names[] = {"format", "mapped"};
};

/// A checkpoint on disk, open for reading. Only the bytes that are used are read.
class checkpoint {
public:
    /// \throws error as `open_checkpoint(path)` of the format, with errc::io, and with
    ///         errc::corrupt_file if a file is written to meanwhile
    explicit checkpoint(std::filesystem::path const& path, open_options const& options = {});

    checkpoint_metadata const& metadata() const { return metadata_; }

    /// Adds to the warnings of opening it.
    void add_warnings(vector<std::string> const& texts);

    /// The layout that says which file holds which shards; holder `i` is file `i`. The first call
    /// makes it.
    layout const& files_layout() const;
    vector<std::string> const& file_names() const { return names_; }

    /// All shards, without memory (see `shapes_in_files`). The first call makes them.
    detail::shard_views<const_tensor_view> const& shapes() const;

    /// A file that stays open as long as the checkpoint does, or null if the checkpoint has too
    /// many files.
    file_store::file const* kept_file(holder_t file) const;

    /// Reads the values that are not tensors (`metadata().objects`), except opaque ones.
    ///
    /// \throws error with errc::unsupported if the format has such values, and they cannot be
    ///         carried
    vector<detail::saved_object> read_objects() const;

    /// True if the format has values that can be read.
    bool can_read_objects() const { return static_cast<bool>(read_objects_); }

    /// Opens a file.
    ///
    /// \throws error with errc::corrupt_file for one that was written to since
    std::unique_ptr<file_store::file> open_file(holder_t file) const;

    /// The store of its files.
    std::shared_ptr<file_store const> const& files() const { return files_; }

    /// True if files are mapped into memory (`open_options::mapped`).
    bool is_mapped() const { return !first_bytes_.empty(); }

    /// The first byte of a mapped shard, or null if the shard has to be read.
    ///
    /// \throws error with errc::corrupt_file if the file does not have it at the checkpoint's
    /// position
    std::byte const* mapped(detail::checkpoint_shard const& shard) const;

    /// \throws error with errc::corrupt_file for one that was written to since
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
    /// The first files. They are read without a lookup, and as they were opened, even if a new file
    /// has replaced one.
    vector<std::unique_ptr<file_store::file>> kept_;
    std::list<detail::mapped_input> mapped_;
    vector<std::byte const*> first_bytes_;           ///< of each mapped file
    detail::row_major_files const* shown_ = nullptr; ///< if mapped files have other content, too
    vector<detail::file_identity> identities_;
    vector<std::string> names_;
};

/// The catalog of a checkpoint, for programs.
RESHARD_DECL catalog catalog_of(checkpoint const& source);

namespace detail {

/// The keys of the readable values that are not tensors, in their order.
RESHARD_DECL vector<std::string> readable_keys(checkpoint_metadata const& metadata);

/// A digest of a checkpoint's tensors, files and save, without paths: it is the same on all ranks.
RESHARD_DECL std::uint64_t digest_of(checkpoint_metadata const& metadata);

/// The files of a checkpoint, with the ranks that see each; null if all ranks see all files.
RESHARD_DECL std::shared_ptr<merged_directories const> united(checkpoint const& source);

/// The name of an operation on a checkpoint that ranks compare: it has the id of its save, or its
/// path.
RESHARD_DECL std::string call_on(std::string_view noun, checkpoint const& source);

/// True if the digests of all ranks are of one checkpoint; the digest 0 means an error.
RESHARD_DECL bool are_same(vector<std::uint64_t> const& digests);

/// The error. If another rank has opened the checkpoint, it names both ranks.
RESHARD_DECL local_error not_everywhere(local_error problem, int rank,
                                        vector<std::uint64_t> const& digests);

/// Refuses checkpoints that ranks have opened, unless all are the same.
RESHARD_DECL void check_same_opened(std::filesystem::path const& path,
                                    vector<std::uint64_t> const& digests);

/// Opens the files that all ranks see together, if they are more than the files of `own`, which
/// this rank sees by itself.
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
/// Each machine may have some of its files, at one path or at different paths. Then the union of
/// the files is opened, and a load gets the bytes of each file from a rank that sees it. If the
/// file system cannot exchange two directories in one step, and a writer died while it replaced the
/// checkpoint, the first rank puts the new one in place.
///
/// \par Collective every rank of the group, in the same order
/// \throws error of the lowest failing rank, on every rank; errc::ranks_disagree if two
///         open different files; errc::missing_file for a file that no rank sees
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
    if (world.size() == 1 && opened) // for a million tensors the digest takes as long as the rest
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
