// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_ATOMIC_REPLACE_HPP
#define RESHARD_STORAGE_ATOMIC_REPLACE_HPP

#include <reshard/os/file_bytes.hpp>
#include <reshard/storage/stale_files.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

/// \file
/// Replaces a file or a directory in one step. Replaces several files together: either all of them
/// or none.

namespace reshard::detail {

inline void write_new_file(std::filesystem::path const& path, std::string_view text,
                           bool sync = true) {
    output_file file = output_file::create(path, text.size());
    file.write(0, std::as_bytes(std::span(text)));
    if (sync)
        file.sync();
}

/// Waits until the entries of a directory are on the disk.
inline void sync_directory(std::filesystem::path const& path) {
    file_descriptor const directory = file_descriptor::open(path, O_RDONLY | O_DIRECTORY);
    if (uninterrupted([&] { return ::fsync(directory.number()); }) != 0 && errno != EINVAL)
        fail_io(path, "cannot be written");
}

/// Exchanges two names; returns 0 or the system's error.
inline int try_exchange(std::filesystem::path const& a, std::filesystem::path const& b) {
    constexpr unsigned exchange_both = 2; // RENAME_EXCHANGE
    auto const exchange = [&] {
        return ::syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), exchange_both);
    };
    return uninterrupted(exchange) == 0 ? 0 : errno;
}

/// The file that a path names. Symbolic links are followed, so that a link itself is never
/// replaced.
///
/// \throws error with errc::io, naming the path, if it is a directory, a device or something else
///         that a new file cannot replace
inline std::filesystem::path file_meant_by(std::filesystem::path const& path) {
    std::filesystem::path target = path;
    std::error_code ignored;
    for (int links = 0; std::filesystem::is_symlink(target, ignored); ++links) {
        if (links == 40)
            fail(errc::io, path.string(),
                 ": cannot be written, because its symbolic links form a cycle, or a chain of more "
                 "than 40");
        target = target.parent_path() / std::filesystem::read_symlink(target, ignored);
    }
    auto const kind = std::filesystem::status(target, ignored).type();
    if (kind == std::filesystem::file_type::directory)
        fail(errc::io, path.string(), ": cannot be written, because it is a directory");
    if (std::filesystem::exists(std::filesystem::file_status(kind)) &&
        kind != std::filesystem::file_type::regular)
        fail(errc::io, path.string(),
             ": cannot be written, because it exists and is not a regular file");
    check_parent(target);
    return target;
}

/// A complete file beside its target, under a temporary name. It is removed unless it replaces the
/// target.
///
/// It has the permissions of the file that it replaces. It is locked as long as this object lives,
/// so that no other writer of the target takes it for a dead writer's file. If the process dies,
/// the file with the `temporary_name` stays, and the next writer removes it. The target is never
/// half written.
class complete_file {
public:
    /// \throws error with errc::io, naming the target
    complete_file(std::filesystem::path const& target, std::string_view text)
        : target_(file_meant_by(target)) {
        try {
            remove_stale_files(target_);
            make_beside();
            output_file file = output_file::open(beside_, text.size());
            file.write(0, std::as_bytes(std::span(text)));
            file.sync();
        } catch (error const& problem) {
            remove_beside();
            fail(problem.code(), about_target(problem.what()));
        } catch (...) {
            remove_beside();
            throw;
        }
    }
    complete_file(complete_file const&) = delete;
    complete_file& operator=(complete_file const&) = delete;

    /// Removes the file that has the temporary name: the new file, or the file that it replaced.
    ~complete_file() { remove_beside(); }

    std::filesystem::path const& target() const { return target_; }

    /// Gives the file the target's name. An existing file is replaced and cannot be restored.
    ///
    /// \throws error with errc::io, naming the target, which is then unchanged
    void put() {
        if (int const problem = try_rename(beside_, target_))
            fail_io(target_, "cannot be put in place", problem);
    }

    /// Gives the file the target's name. `take_back` can undo this.
    void put_for_now() {
        std::error_code ignored;
        if (std::filesystem::exists(target_, ignored)) {
            old_ = file_descriptor::open(target_, O_RDONLY);
            static_cast<void>(old_.try_lock()); // another writer may have locked it
        }
        int const problem = try_exchange(beside_, target_);
        is_exchanged_ = problem == 0;
        is_new_ = problem == ENOENT;
        if (!is_exchanged_)
            put();
    }

    /// Restores the target. But if the file system cannot exchange two names, a replaced file stays
    /// replaced.
    ///
    /// \pre `put_for_now` was called
    void take_back() noexcept {
        std::error_code ignored;
        if (is_exchanged_)
            try_exchange(beside_, target_);
        else if (is_new_)
            std::filesystem::remove(target_, ignored);
    }

private:
    void make_beside() {
        beside_ = target_;
        beside_.replace_filename(temporary_name(target_));
        lock_ = create_locked(beside_, target_, [&] { file_descriptor::create_empty(beside_); });
        struct stat old = {};
        if (::stat(target_.c_str(), &old) == 0)
            static_cast<void>(::fchmod(lock_.number(), old.st_mode & 07777));
    }

    void remove_beside() noexcept {
        std::error_code ignored;
        if (!beside_.empty())
            std::filesystem::remove(beside_, ignored);
    }

    std::string about_target(std::string const& text) const {
        std::string const name = beside_.string();
        return target_.string() +
               (text.starts_with(name) ? text.substr(name.size()) : ": cannot be written: " + text);
    }

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
inline void put_all(std::deque<complete_file>& files) {
    std::size_t count = 0; // files in place
    try {
        for (; count < files.size(); ++count)
            if (count + 1 < files.size())
                files[count].put_for_now();
            else
                files[count].put();
    } catch (...) {
        while (count > 0)
            files[--count].take_back();
        throw;
    }
}

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
inline void write_whole_files(std::span<whole_file const> files) {
    std::deque<complete_file> complete;
    for (whole_file const& file : files)
        complete.emplace_back(file.target, file.text);
    put_all(complete);
    for (complete_file const& file : complete)
        sync_directory(directory_of(file.target()));
}

/// The same for one file.
inline void write_whole_file(std::filesystem::path const& target, std::string_view text) {
    whole_file const file{target, std::string(text)};
    write_whole_files({&file, 1});
}

/// Renames a file unless the new name exists; returns 0 or the system's error.
inline int try_rename_to_new(std::filesystem::path const& source,
                             std::filesystem::path const& target) {
    constexpr unsigned no_replace = 1; // RENAME_NOREPLACE
    auto const rename = [&] {
        return ::syscall(SYS_renameat2, AT_FDCWD, source.c_str(), AT_FDCWD, target.c_str(),
                         no_replace);
    };
    if (uninterrupted(rename) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    std::error_code ignored; // without this feature, another process may interfere
    return std::filesystem::exists(target, ignored) ? EEXIST : try_rename(source, target);
}

/// Renames the file `fresh` to `target`, in one step.
///
/// \throws error as `atomic_replace`
inline void put_file_in_place(std::filesystem::path const& fresh,
                              std::filesystem::path const& target, bool replace) {
    int const problem = replace ? try_rename(fresh, target) : try_rename_to_new(fresh, target);
    if (problem == EEXIST)
        fail(errc::already_exists, target.string(),
             ": another process has created it meanwhile; give another target");
    if (problem != 0)
        fail_io(target, "cannot be put in place", problem);
    sync_directory(directory_of(target));
}

/// Exchanges two directories on a file system that cannot do so in one step. For a moment `target`
/// does not exist.
///
/// \post after an error both are unchanged; if `target` cannot be restored, the message has the new
///       path of the old directory. If the process dies in between, `finish_replacement` completes
///       the exchange.
inline void exchange_in_steps(std::filesystem::path const& fresh,
                              std::filesystem::path const& target) {
    std::filesystem::path aside = fresh;
    aside += name_of_old;
    if (int const problem = try_rename(target, aside))
        fail_io(target, "cannot be replaced", problem);
    if (int const problem = try_rename(fresh, target)) {
        bool const is_back = try_rename(aside, target) == 0;
        fail_io(target,
                is_back ? "cannot be replaced" : "cannot be replaced; it is now " + aside.string(),
                problem);
    }
    try_rename(aside, fresh);
}

/// Replaces `target` with the directory `fresh`, in one step if the system can.
///
/// \post   `fresh` does not exist, or is the old `target`
/// \throws error with errc::already_exists if another process has created the target and `replace`
///         is false; with errc::io if the system refuses. Then both are unchanged
inline void atomic_replace(std::filesystem::path const& fresh, std::filesystem::path const& target,
                           bool replace) {
    sync_directory(fresh);
    int problem = try_rename(fresh, target);
    if (problem == 0)
        return;
    if (problem != EEXIST && problem != ENOTEMPTY && problem != ENOTDIR)
        fail_io(target, "cannot be put in place", problem);
    if (!replace)
        fail(errc::already_exists, target.string(),
             ": another process has created it meanwhile; give another target");
    problem = try_exchange(fresh, target);
    if (problem == EINVAL || problem == ENOSYS)
        exchange_in_steps(fresh, target);
    else if (problem != 0)
        fail_io(target, "cannot be replaced", problem);
}

} // namespace reshard::detail

#endif
