// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_STAGING_HPP
#define RESHARD_STORAGE_STAGING_HPP

#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/os/file_bytes.hpp>
#include <reshard/storage/put_in_place.hpp>
#include <reshard/storage/replacement.hpp>

#include <fcntl.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

/// \file
/// A directory that is filled beside its place, and then there all at once.

namespace reshard::detail {

inline std::filesystem::path without_slash(std::filesystem::path const& path) {
    return path.has_filename() ? path : path.parent_path();
}

inline void check_parent(std::filesystem::path const& target) {
    std::filesystem::path const parent = target.parent_path();
    std::error_code ignored;
    if (parent.empty() || std::filesystem::is_directory(parent, ignored))
        return;
    fail(errc::io, target.string(), ": ", parent.string(), ", its parent directory, ",
         std::filesystem::exists(parent, ignored) ? "is none" : "does not exist");
}

/// Refuses a target that must not be written.
inline void check_target(std::filesystem::path const& target, bool replace) {
    if (target.empty())
        fail(errc::usage, "the target is an empty path; give the name of a directory");
    std::error_code problem;
    auto const found = std::filesystem::symlink_status(target, problem).type();
    if (found == std::filesystem::file_type::none)
        fail_io(target, "cannot be examined", problem.value());
    bool const is_there = found != std::filesystem::file_type::not_found;
    if (is_there && !replace)
        fail(errc::already_exists, target.string(),
             ": already exists; give another target, or allow it to be replaced");
    check_parent(target);
    if (found == std::filesystem::file_type::directory) {
        check_no_mount_point(target);
        check_not_needed(target);
        files_to_keep(target);
    } else if (is_there) {
        check_replaced_file(target);
    }
}

/// Copies files into a directory, but for names that are there.
inline void copy_files(std::vector<std::filesystem::path> const& files,
                       std::filesystem::path const& directory) {
    for (std::filesystem::path const& file : files) {
        std::error_code problem;
        std::filesystem::copy_file(file, directory / file.filename(),
                                   std::filesystem::copy_options::skip_existing, problem);
        if (problem)
            fail_io(file, "cannot be copied beside the new checkpoint", problem.value());
    }
}

/// Creates a directory and locks it, so that others see that its writer lives.
///
/// One that looked before it was locked may have removed it by then.
inline file_descriptor create_temporary(std::filesystem::path const& temporary,
                                        std::filesystem::path const& target) {
    int const without_locks = 50; // so often a file system that has any refuses none
    for (int tries = 0; tries < 2 * without_locks; ++tries) {
        std::error_code problem;
        std::filesystem::create_directory(temporary, problem);
        if (problem)
            fail_io(target, "cannot be written", problem.value());
        try {
            file_descriptor directory = file_descriptor::open(temporary, O_RDONLY | O_DIRECTORY);
            bool const is_locked = directory.try_share() || tries >= without_locks;
            if (is_locked && is_at(directory, temporary))
                return directory;
        } catch (error const& removed) {
            if (removed.code() != errc::missing_file)
                throw;
        }
    }
    fail(errc::io, target.string(), ": cannot be written, since another process removes ",
         temporary.string());
}

/// A directory that is complete but for its name. Nothing here communicates.
struct staged_directory {
    std::filesystem::path target;
    std::filesystem::path temporary;
    bool replace = false;

    /// Makes the target appear, with what stays of the one that is there unless the new one has
    /// files of these names. What was there has the temporary name then.
    ///
    /// \throws error as `put_in_place`, and the target is what it was
    void appear() const {
        std::error_code problem;
        if (replace && std::filesystem::exists(target, problem))
            copy_files(files_to_keep(target), temporary);
        put_in_place(temporary, target, replace);
        if (auto const lost = attempt([&] { sync_directory(target / ".."); }))
            fail(errc::io, target.string(),
                 ": is written, but may be lost if the machine stops now: ", lost->what());
    }

    /// Removes what was not completed, or what the new one replaced.
    void remove_temporary() const {
        std::error_code ignored;
        std::filesystem::remove_all(temporary, ignored);
    }
};

/// A temporary directory beside a target: files are written there, and the whole is renamed last.
///
/// A process that dies leaves the temporary directory (see `temporary_name`), never half a target;
/// the next one removes it.
class staging {
public:
    /// Creates the temporary directory, on the first rank, after it has brought an interrupted
    /// replacement to its end and removed what writers have left that are dead.
    ///
    /// \par Collective every rank of the group
    /// \throws error with errc::already_exists where the target is there and `replace` is false, or
    ///         it holds what is no part of a checkpoint; with errc::io where it could not be
    ///         created; on every rank alike
    staging(group auto const& world, std::filesystem::path const& target, bool replace) {
        staged_.replace = replace;
        agree_on(world, [&] { staged_.target = resolved(without_slash(target)); });
        staged_.temporary = staged_.target;
        staged_.temporary.replace_filename(
            gather_values(world, temporary_name(staged_.target)).front());
        agree_on(world, [&] {
            if (world.rank() != 0)
                return;
            finish_replacement(staged_.target);
            check_target(staged_.target, replace);
            removed_ = remove_leftovers(staged_.target);
            directory_ = create_temporary(staged_.temporary, staged_.target);
        });
    }
    staging(staging const&) = delete;
    staging& operator=(staging const&) = delete;

    /// Removes what was not committed, or what the commit replaced.
    ~staging() {
        if (directory_.is_open())
            staged_.remove_temporary();
    }

    staged_directory const& directory() const { return staged_; }
    std::filesystem::path const& path() const { return staged_.temporary; }

    /// The lock, on the first rank: who has it removes the directory in the end.
    file_descriptor release() { return std::move(directory_); }

    /// What dead writers had left, on the first rank.
    std::vector<std::string> const& removed() const { return removed_; }

    /// Makes the target appear.
    ///
    /// \par Collective every rank of the group, after all of them have written what they had to
    /// \throws error as `put_in_place`, on every rank alike, and the target is what it was
    void commit(group auto const& world) {
        agree_on(world, [&] {
            if (world.rank() != 0)
                return;
            staged_.appear();
        });
    }

private:
    staged_directory staged_;
    std::vector<std::string> removed_;
    file_descriptor directory_; ///< locked while this lives: its writer is not dead
};

} // namespace reshard::detail

#endif
