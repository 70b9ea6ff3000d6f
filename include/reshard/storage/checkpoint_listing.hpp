// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_CHECKPOINT_LISTING_HPP
#define RESHARD_STORAGE_CHECKPOINT_LISTING_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/storage/checkpoint.hpp>

#include <cstddef>
#include <filesystem>
#include <string>

/// \file
/// Lists the saves in a directory, and finds the newest complete save.

namespace reshard::detail {

/// The state of a save.
enum class completeness {
    complete,
    damaged,     ///< unfinished, or changed since it was saved
    in_progress, ///< a temporary directory whose writer is or may be alive
    leftover,    ///< a temporary directory whose writer has died
    foreign,     ///< not a save of this library
};

/// An entry of a listed directory: a save, or a directory that may be a save.
struct listed_save {
    std::string name; ///< its name in the listed directory
    completeness state = completeness::complete;
    save_record record{};    ///< empty if it cannot be read
    bool is_pinned = false;  ///< if true, `reshard.pinned` is beside the record
    bool is_in_use = false;  ///< if true, a delta of this save is being written
    std::string target{};    ///< for a temporary directory: the name of its target
    std::string stranger{};  ///< a foreign entry that may hold tensors
    std::string problem{};   ///< why it is not complete; empty for a directory that is not a
                             ///< checkpoint
    std::uint64_t bytes = 0; ///< of all its files
};

/// All directories in a directory, sorted by name, without links. Only headers are read.
///
/// \throws error with errc::missing_file or errc::io if the directory cannot be read
RESHARD_DECL vector<listed_save> saves_in(std::filesystem::path const& directory);

/// The indices of the complete saves, from the newest to the oldest.
RESHARD_DECL vector<std::size_t> newest_first(vector<listed_save> const& saves);

/// The newest complete save of a directory.
struct newest_save {
    std::string name;
    vector<std::string> passed_over; ///< why other entries were skipped, as sentences

    static constexpr void members(auto& self, auto&& visit) { visit(self.name, self.passed_over); }
};

/// \throws error with errc::missing_file, listing the entries, if no save is complete
RESHARD_DECL newest_save newest_in(std::filesystem::path const& directory);

/// The newest complete save that the first rank sees, on every rank.
///
/// If a writer died while it replaced a save, the replacement is completed first.
///
/// \par Collective every rank of the group, in the same order
newest_save newest_in(group auto const& world, std::filesystem::path const& directory) {
    newest_save save;
    agree_on(world, [&] {
        if (world.rank() == 0)
            save = newest_in(directory);
    });
    return gather_values(world, save).front();
}

} // namespace reshard::detail

namespace reshard {

/// Selects the newest complete checkpoint of a directory.
struct latest {};

/// Opens the newest complete checkpoint of a directory, by the times in the records.
///
/// The first rank chooses the checkpoint. Saves that are unfinished, damaged or without a record
/// are skipped; `metadata().warnings` lists them.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `open_checkpoint`; with errc::missing_file, listing the entries, if no
///         checkpoint is complete
checkpoint open_checkpoint(group auto const& world, std::filesystem::path const& directory, latest,
                           open_options const& options = {}) {
    detail::agree_to_run(world, "open the latest of " + directory.string(), {"options", options});
    auto const newest = detail::newest_in(world, directory);
    checkpoint opened = open_checkpoint(world, directory / newest.name, options);
    opened.add_warnings(newest.passed_over);
    return opened;
}

/// The same over a communicator.
///
/// \par Collective every rank of the group, in the same order
RESHARD_DECL checkpoint open_checkpoint(mpi_group const& world,
                                        std::filesystem::path const& directory, latest newest,
                                        open_options const& options = {});

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/checkpoint_listing.ipp>
#endif

#endif
