// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_ATOMIC_REPLACE_HPP
#define RESHARD_OS_ATOMIC_REPLACE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/os/file_bytes.hpp>

#include <fcntl.h>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// \file
/// Replaces a file or a directory in one step. Replaces several files together: either all of them
/// or none. Removes files and directories that dead writers left beside their targets.

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

/// Waits until the entries of a directory are on the disk.
RESHARD_DECL void sync_directory(std::filesystem::path const& path);

/// The file that a path names. Symbolic links are followed, so that a link itself is never
/// replaced.
///
/// \throws error with errc::io, naming the path, if it is a directory, a device or something else
///         that a new file cannot replace
RESHARD_DECL std::filesystem::path file_meant_by(std::filesystem::path const& path);

/// A complete file beside its target, under a temporary name. It is removed unless it replaces the
/// target.
///
/// It has the permissions of the file that it replaces. It is locked as long as this object lives,
/// so that no other writer of the target takes it for a dead writer's file. If the process dies,
/// the file with the `temporary_name` stays, and the next writer removes it. The target is never
/// half written.
class complete_file {
public:
    /// Creates a file of `bytes` bytes, which `write` writes.
    ///
    /// \throws error with errc::io, naming the target; and what `write` throws
    complete_file(std::filesystem::path const& target, std::uint64_t bytes,
                  std::function<void(output_file&)> const& write);

    /// \throws error with errc::io, naming the target
    complete_file(std::filesystem::path const& target, std::string_view text);
    complete_file(complete_file const&) = delete;
    complete_file& operator=(complete_file const&) = delete;

    /// Removes the file that has the temporary name: the new file, or the file that it replaced.
    ~complete_file() { remove_beside(); }

    std::filesystem::path const& target() const { return target_; }

    /// Gives the file the target's name. An existing file is replaced and cannot be restored.
    ///
    /// \throws error with errc::io, naming the target, which is then unchanged
    void put();

    /// Gives the file the target's name, and waits until the directory is on the disk.
    ///
    /// \throws error as `put_file_in_place`
    void put(bool replace);

    /// Gives the file the target's name. `take_back` can undo this.
    void put_for_now();

    /// Restores the target. But if the file system cannot exchange two names, a replaced file stays
    /// replaced.
    ///
    /// \pre `put_for_now` was called
    void take_back() noexcept;

private:
    void make_beside();
    void remove_beside() noexcept;
    std::string about_target(std::string const& text) const;

    std::filesystem::path target_;
    std::filesystem::path beside_; ///< the temporary name
    file_descriptor lock_;
    file_descriptor old_; ///< the replaced file
    bool is_exchanged_ = false;
    bool is_new_ = false; ///< the target did not exist
};

/// Gives all files their targets' names, or none: after a failure the earlier files are taken back.
///
/// \throws error as `complete_file::put`
RESHARD_DECL void put_all(std::deque<complete_file>& files);

/// A file to write, with its content.
struct whole_file {
    std::filesystem::path target;
    std::string text;
};

/// Writes files. They appear, or replace existing files, when all of them are complete.
///
/// If the process dies while it renames them, only some of them may have appeared.
///
/// \pre    no two targets are the same file
/// \throws error with errc::io, naming the target that cannot be written. Then all targets are
///         unchanged, unless the file system cannot exchange two names, or the directory could not
///         be flushed to the disk
RESHARD_DECL void write_whole_files(std::span<whole_file const> files);

/// The same for one file.
RESHARD_DECL void write_whole_file(std::filesystem::path const& target, std::string_view text);

/// Renames the file `fresh` to `target`, in one step.
///
/// \throws error as `atomic_replace`
RESHARD_DECL void put_file_in_place(std::filesystem::path const& fresh,
                                    std::filesystem::path const& target, bool replace);

/// Exchanges two directories on a file system that cannot do so in one step. For a moment `target`
/// does not exist.
///
/// \post after an error both are unchanged; if `target` cannot be restored, the message has the new
///       path of the old directory. If the process dies in between, `finish_replacement` completes
///       the exchange.
RESHARD_DECL void exchange_in_steps(std::filesystem::path const& fresh,
                                    std::filesystem::path const& target);

/// Replaces `target` with the directory `fresh`, in one step if the system can.
///
/// \post   `fresh` does not exist, or is the old `target`
/// \throws error with errc::already_exists if another process has created the target and `replace`
///         is false; with errc::io if the system refuses. Then both are unchanged
RESHARD_DECL void atomic_replace(std::filesystem::path const& fresh,
                                 std::filesystem::path const& target, bool replace);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/os/impl/atomic_replace.ipp>
#endif

#endif
