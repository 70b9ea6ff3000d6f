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
/// The notes that the writers of one checkpoint leave each other, in files beside its own. Nothing
/// here communicates in another way.

namespace reshard::detail {

/// A save that is under way, as one of its processes sees it.
struct shared_save {
    std::filesystem::path const& target;
    std::filesystem::path const& temporary; ///< the directory that will be the target
    file_descriptor const& seen;            ///< that directory, under any name
    int rank = 0;
    int size = 1;
};

/// The files that each rank has written.
using runs_by_rank = vector<vector<written_run>>;

/// Publishes the runs that this process has written.
///
/// \throws error with errc::io
RESHARD_DECL void publish_runs(shared_save const& save, vector<written_run> const& runs);

/// Publishes that this process has failed. If the note cannot be written, an empty file says so.
///
/// \return true if others learn the reason
RESHARD_DECL bool publish_failure(shared_save const& save, errc code, std::string const& text);

/// Claims the save; true for only one process. Only that process may read all notes, and complete
/// the save or give it up.
///
/// \post the result is false if another process has completed the save, as missing notes show. The
///       old target may have the temporary name then, and gets no file
RESHARD_DECL bool claim(shared_save const& save);

/// Ends the claim.
///
/// \throws error with errc::io
RESHARD_DECL void remove_claim(shared_save const& save);

/// Removes all notes.
///
/// \throws error with errc::io
RESHARD_DECL void remove_notes(shared_save const& save);

/// Lets one process call `complete` when the notes of all exist. `complete` removes the notes and
/// the claim, and then gives the directory the target's name. If it fails before that, all other
/// processes fail, too.
///
/// \throws error of the process that has failed; of the lowest one if several have
RESHARD_DECL void complete_if_ready(shared_save const& save,
                                    std::function<void(runs_by_rank const&)> const& complete);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/shared_save.ipp>
#endif

#endif
