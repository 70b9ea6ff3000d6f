// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_STALE_FILES_HPP
#define RESHARD_STORAGE_STALE_FILES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/os/file.hpp>

#include <fcntl.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// Files and directories that dead writers left beside their targets.

namespace reshard::detail {

/// The directory of a path.
inline std::filesystem::path directory_of(std::filesystem::path const& path) {
    return path.has_parent_path() ? path.parent_path() : ".";
}

/// 128 random bits as 32 hexadecimal digits, different in each call on any machine.
RESHARD_DECL std::string random_text();

/// The temporary path of a replacement beside `target`: `.NAME.partial-HOST-BOOT-RANDOM`. No other
/// writer on any machine uses it. `BOOT` is the beginning of the system's boot id. It distinguishes
/// machines even if their containers have the same host name.
RESHARD_DECL std::string temporary_name(std::filesystem::path const& target);

/// The suffix of the old directory's temporary name, after the new directory's temporary name. It
/// is used if the file system cannot exchange two directories in one step.
inline constexpr std::string_view name_of_old = ".old";

/// The contents of a temporary name.
struct temporary_facts {
    std::string target;   ///< the name that it will have, or had
    bool is_old = false;  ///< if true, the old directory of an interrupted replacement
    bool is_dead = false; ///< if true, the writer has died (see `remove_stale_files`)

    bool operator==(temporary_facts const&) const = default;
};

/// Reads a temporary name; std::nullopt for another name.
RESHARD_DECL std::optional<temporary_facts> facts_of_temporary(std::filesystem::path const& path);

/// Removes the files of dead writers of `target`. A writer of this machine is dead if it no longer
/// holds its lock, or if it ran before the last boot. Files of other machines' writers are kept,
/// since those writers may be alive.
///
/// \return the removed paths
RESHARD_DECL vector<std::string> remove_stale_files(std::filesystem::path const& target);

/// Creates a temporary file or directory with `create()`, and locks it to show other processes that
/// its writer is alive.
///
/// Tries again if another process removes it before it is locked.
file_descriptor create_locked(std::filesystem::path const& temporary,
                              std::filesystem::path const& target, auto&& create) {
    int const without_locks = 50; // a file system with locks refuses less often
    for (int tries = 0; tries < 2 * without_locks; ++tries) {
        create();
        try {
            file_descriptor descriptor = file_descriptor::open(temporary, O_RDONLY);
            bool const is_locked = descriptor.try_share() || tries >= without_locks;
            if (is_locked && is_at(descriptor, temporary))
                return descriptor;
        } catch (error const& removed) {
            if (removed.code() != errc::missing_file)
                throw;
        }
    }
    fail(errc::io, target.string(), ": cannot be written, because another process is removing ",
         temporary.string());
}

/// Completes the replacement of a writer that died after it had renamed the old target, but before
/// it had renamed the new directory to the target. Does nothing if the target exists.
///
/// \return true if it renamed a directory to the target
RESHARD_DECL bool finish_replacement(std::filesystem::path const& target);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/stale_files.ipp>
#endif

#endif
