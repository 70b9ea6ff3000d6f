// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_DELTA_BASE_HPP
#define RESHARD_STORAGE_DELTA_BASE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/os/file_bytes.hpp>
#include <reshard/storage/target_files.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

/// \file
/// The checkpoint that a delta refers to for unchanged bytes.

namespace reshard::detail {

/// The base of a delta: a checkpoint of this library, and the data for references to its files.
class delta_base {
public:
    /// Opens the checkpoint at `path` as the base of a save at `target`, in the same store. It
    /// reads only headers and the record.
    ///
    /// \throws error as `open_checkpoint`; errc::corrupt_file if another save replaced the base
    ///         while it was opened; errc::unsupported if the base has no record or no digests;
    ///         errc::usage if the save would replace the base or a checkpoint that the base needs,
    ///         or if the path of the base relative to the target is not UTF-8
    RESHARD_DECL delta_base(std::shared_ptr<file_store const> files,
                            std::filesystem::path const& path, std::filesystem::path const& target);

    /// Locks the base and the saves that it needs as long as this object lives, so that `retain`
    /// does not delete them. If the file system has no locks, only `check_there` notices a
    /// deletion.
    ///
    /// \pre    the save is in the file system
    /// \throws error as `check_there`; errc::io if another process has an exclusive lock on a save
    RESHARD_DECL void hold();

    std::string const& save() const { return record_.save; }

    /// The shard of the base with the same tensor, elements and chunk size as `shard`; or null.
    ///
    /// \param hint the likely index of the base's shard
    RESHARD_DECL checkpoint_shard const* find_like(checkpoint_tensor const& tensor,
                                                   checkpoint_shard const& shard,
                                                   std::uint64_t chunk_size,
                                                   std::size_t hint) const;

    /// The files that contain the bytes of the base: its own files, and files of the saves that it
    /// needs.
    vector<base_file> const& sources() const { return sources_; }

    /// The runs of the sources that contain the bytes of file `file` of the base.
    vector<delta_run> const& runs(holder_t file) const { return runs_[file]; }

    /// Refuses the saves that a delta needs if they were removed or replaced.
    ///
    /// \throws error with errc::missing_file or errc::corrupt_file, naming the save
    RESHARD_DECL void check_there(record_delta const& delta) const;

private:
    void add_source(std::filesystem::path const& directory, std::string_view save,
                    recorded_file const& file);

    /// Refuses a save that was removed or replaced.
    void check_there(std::string const& save) const;

    std::filesystem::path record_of(std::string const& save) const;

    /// \pre the record lists a file of that name
    vector<delta_run> runs_of(std::string const& file) const;

    std::shared_ptr<file_store const> files_;
    std::filesystem::path target_;
    std::filesystem::path path_;
    /// The directories of the base and of the saves that it needs, relative to the base, by save
    /// id.
    std::map<std::string, std::filesystem::path> directories_;
    checkpoint_metadata metadata_;
    save_record record_;
    vector<base_file> sources_;
    vector<vector<delta_run>> runs_;
    vector<file_descriptor> held_; ///< directories with shared locks
};

/// Opens the base of a delta at `target`, the same on every rank; null for a save without a base.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `delta_base`, on every rank; errc::usage for a delta without digests;
///         errc::ranks_disagree if ranks see different saves
std::shared_ptr<delta_base const> base_of_all(group auto const& world,
                                              std::filesystem::path const& target,
                                              write_options const& options) {
    if (options.base.empty())
        return nullptr;
    std::shared_ptr<delta_base const> base;
    agree_on(world, [&] {
        if (!options.digests)
            fail(errc::usage, target.string(), ": a delta of ", options.base,
                 " needs digests to find changes; set write_options.digests, or omit the base");
        auto const opened = std::make_shared<delta_base>(
            options.files ? options.files : files_of_system(), options.base, target);
        if (!options.files)
            opened->hold();
        base = opened;
    });
    auto const saves = gather_values(world, base->save());
    for (std::size_t rank = 1; rank < saves.size(); ++rank)
        if (saves[rank] != saves[0])
            fail(errc::ranks_disagree, options.base, ": rank 0 sees the save ", saves[0],
                 ", but rank ", rank, " sees the save ", saves[rank],
                 "; do the ranks share this directory?");
    return base;
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/delta_base.ipp>
#endif

#endif
