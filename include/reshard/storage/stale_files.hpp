// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_STALE_FILES_HPP
#define RESHARD_STORAGE_STALE_FILES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/os/file.hpp>

#include <fcntl.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// What writers that died have left beside their targets.

namespace reshard::detail {

/// The directory that a path is in.
inline std::filesystem::path directory_of(std::filesystem::path const& path) {
    return path.has_parent_path() ? path.parent_path() : ".";
}

/// 128 bits that no other call gives, on any machine, as 32 hexadecimal digits.
RESHARD_DECL std::string random_text();

/// The name beside `target` of its replacement: `.NAME.partial-HOST-BOOT-RANDOM`. No other writer
/// has it, on any machine. `BOOT` begins the number that the system has had since it was started,
/// and distinguishes machines even if containers have one name.
RESHARD_DECL std::string temporary_name(std::filesystem::path const& target);

/// The suffix that turns the new directory's name into the old one's, if a file system cannot
/// exchange them in one step.
inline constexpr std::string_view name_of_old = ".old";

/// The contents of a temporary name.
struct temporary_facts {
    std::string target;   ///< the name beside it that it is to have, or had
    bool is_old = false;  ///< it is the old one of a replacement that was interrupted
    bool is_dead = false; ///< its writer has died, as `remove_stale_files` sees it

    bool operator==(temporary_facts const&) const = default;
};

/// The contents of a temporary name; none for another name.
RESHARD_DECL std::optional<temporary_facts> facts_of_temporary(std::filesystem::path const& path);

/// Removes the files of dead writers of `target`: writers of this machine that no longer hold its
/// lock, and writers of an earlier start of this machine. Files of another machine's writers are
/// kept, as these may be alive.
///
/// \return the removed paths
RESHARD_DECL std::vector<std::string> remove_stale_files(std::filesystem::path const& target);

/// Creates a temporary file or directory by `create()`, and locks it, so that others see that its
/// writer lives.
///
/// One that looked before it was locked may have removed it by then.
file_descriptor create_locked(std::filesystem::path const& temporary,
                              std::filesystem::path const& target, auto&& create) {
    int const without_locks = 50; // so often a file system that has any refuses none
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
    fail(errc::io, target.string(), ": cannot be written, since another process removes ",
         temporary.string());
}

/// Puts in place the directory that a writer had finished, if it died after the old target got
/// another name and the new one did not yet have its name. Does nothing if the target exists.
///
/// \return true if it did
RESHARD_DECL bool finish_replacement(std::filesystem::path const& target);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/stale_files.ipp>
#endif

#endif
