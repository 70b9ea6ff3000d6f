// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_SHARED_SAVE_HPP
#define RESHARD_STORAGE_SHARED_SAVE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/os/file.hpp>
#include <reshard/storage/written_files.hpp>

#include <filesystem>
#include <functional>
#include <string>

/// \file
/// Notes between the processes that write one checkpoint in the background. The notes are files in
/// the checkpoint's temporary directory. Nothing here communicates in another way.

namespace reshard::detail {

/// A save in progress, from the view of one process.
struct shared_save {
    std::filesystem::path const& target;
    std::filesystem::path const& temporary; ///< the directory that will be the target
    file_descriptor const& seen;            ///< the same directory, even after it is renamed
    int rank = 0;
    int size = 1;
};

/// The runs that each rank has written.
using runs_by_rank = vector<vector<written_run>>;

/// Publishes the runs that this process has written.
///
/// \throws error with errc::io
RESHARD_DECL void publish_runs(shared_save const& save, vector<written_run> const& runs);

/// Publishes the error of this process. If the error cannot be written, tries to leave an empty
/// file.
///
/// \return true if other processes can read the error
RESHARD_DECL bool publish_failure(shared_save const& save, errc code, std::string const& text);

/// Claims the save; true for only one process. Only this process may read all notes, and complete
/// the save or give it up.
///
/// \post the result is false if another process has completed the save and removed the notes. Then
///       the old target may have the temporary name; no file of the claim stays in it
RESHARD_DECL bool claim(shared_save const& save);

/// Ends the claim.
///
/// \throws error with errc::io
RESHARD_DECL void remove_claim(shared_save const& save);

/// Removes all notes.
///
/// \throws error with errc::io
RESHARD_DECL void remove_notes(shared_save const& save);

/// If the notes of all processes exist, lets one process call `complete`. It removes the notes and
/// the claim, and renames the directory to the target. If it fails before the renaming, all other
/// processes fail, too.
///
/// \throws error of the lowest process that has failed
RESHARD_DECL void complete_if_ready(shared_save const& save,
                                    std::function<void(runs_by_rank const&)> const& complete);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/shared_save.ipp>
#endif

#endif
