// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_PUT_IN_PLACE_HPP
#define RESHARD_STORAGE_PUT_IN_PLACE_HPP

#include <reshard/os/file_bytes.hpp>
#include <reshard/storage/leftovers.hpp>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

/// \file
/// A directory takes its place, or that of another one, in one step.

namespace reshard::detail {

inline void write_new_file(std::filesystem::path const& path, std::string_view text,
                           bool sync = true) {
    output_file file = output_file::create(path, text.size());
    file.write(0, std::as_bytes(std::span(text)));
    if (sync)
        file.sync();
}

/// Waits until the names in a directory are on the disk.
inline void sync_directory(std::filesystem::path const& path) {
    file_descriptor const directory = file_descriptor::open(path, O_RDONLY | O_DIRECTORY);
    if (uninterrupted([&] { return ::fsync(directory.number()); }) != 0 && errno != EINVAL)
        fail_io(path, "cannot be written");
}

/// Writes a file beside `target` and gives it that name when it is complete; a file that is there
/// is replaced.
///
/// A process that dies leaves a file of a `temporary_name`, never half a file; the next one removes
/// it.
///
/// \throws error with errc::io, naming the target; then what is there is what it was
inline void write_whole_file(std::filesystem::path const& target, std::string_view text) {
    std::error_code ignored;
    if (std::filesystem::is_directory(target, ignored))
        fail(errc::io, target.string(), ": cannot be written, since this is a directory");
    std::filesystem::path fresh = target;
    fresh.replace_filename(temporary_name(target));
    try {
        remove_leftovers(target);
        write_new_file(fresh, text);
        if (int const problem = try_rename(fresh, target))
            fail_io(target, "cannot be put in place", problem);
        sync_directory(directory_of(target));
    } catch (error const& problem) {
        std::filesystem::remove(fresh, ignored);
        fail(problem.code(), target.string(), ": cannot be written: ", problem.what());
    }
}

/// Renames unless something has the new name; returns 0 or what the system says.
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
    std::error_code ignored; // a file system that cannot, so that another process may come between
    return std::filesystem::exists(target, ignored) ? EEXIST : try_rename(source, target);
}

/// Puts the file `fresh` in the place of `target`, in one step.
///
/// \throws error as `put_in_place`
inline void put_file_in_place(std::filesystem::path const& fresh,
                              std::filesystem::path const& target, bool replace) {
    int const problem = replace ? try_rename(fresh, target) : try_rename_to_new(fresh, target);
    if (problem == EEXIST)
        fail(errc::already_exists, target.string(),
             ": another process created it while the new one was written; give another target");
    if (problem != 0)
        fail_io(target, "cannot be put in place", problem);
    sync_directory(directory_of(target));
}

/// Lets two names change their places; returns 0 or what the system says.
inline int try_exchange(std::filesystem::path const& a, std::filesystem::path const& b) {
    constexpr unsigned exchange_both = 2; // RENAME_EXCHANGE
    auto const exchange = [&] {
        return ::syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), exchange_both);
    };
    return uninterrupted(exchange) == 0 ? 0 : errno;
}

/// The same where the file system cannot: for a moment there is no `target`.
///
/// \post where it fails, both are what they were; where even that fails, the message says where the
///       old one is
///       A process that dies in between leaves what `finish_replacement` brings to its end.
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

/// Puts the directory `fresh` in the place of `target`, in one step where the system can.
///
/// \post   `fresh` is gone, or is what `target` was
/// \throws error with errc::already_exists where something is at the target by now and `replace` is
///         false; with errc::io where the system refuses; then both are what they were
inline void put_in_place(std::filesystem::path const& fresh, std::filesystem::path const& target,
                         bool replace) {
    sync_directory(fresh);
    int problem = try_rename(fresh, target);
    if (problem == 0)
        return;
    if (problem != EEXIST && problem != ENOTEMPTY && problem != ENOTDIR)
        fail_io(target, "cannot be put in place", problem);
    if (!replace)
        fail(errc::already_exists, target.string(),
             ": another process created it while the new one was written; give another target");
    problem = try_exchange(fresh, target);
    if (problem == EINVAL || problem == ENOSYS)
        exchange_in_steps(fresh, target);
    else if (problem != 0)
        fail_io(target, "cannot be replaced", problem);
}

} // namespace reshard::detail

#endif
