// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_PUT_IN_PLACE_HPP
#define RESHARD_STORAGE_PUT_IN_PLACE_HPP

#include <reshard/os/mapped_file.hpp>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/// \file
/// A directory takes its place, or that of another one, in one step.

namespace reshard::detail {

/// Gives `source` the name `target`; returns 0 or what the system says.
inline int try_rename(std::filesystem::path const& source, std::filesystem::path const& target) {
    return ::rename(source.c_str(), target.c_str()) == 0 ? 0 : errno;
}

/// Lets two names change their places; returns 0 or what the system says.
inline int try_exchange(std::filesystem::path const& a, std::filesystem::path const& b) {
    constexpr unsigned exchange_both = 2; // RENAME_EXCHANGE
    return ::syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), exchange_both) == 0
               ? 0
               : errno;
}

/// The same where the file system cannot: for a moment there is no `target`.
///
/// \post where it fails, both are what they were; where even that fails, the message says where the old one is
inline void exchange_in_steps(std::filesystem::path const& fresh,
                              std::filesystem::path const& target) {
    std::filesystem::path aside = fresh;
    aside += ".old";
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

/// Waits until the names in a directory are on the disk.
inline void sync_directory(std::filesystem::path const& path) {
    file_handle const directory(path, O_RDONLY | O_DIRECTORY);
    if (::fsync(directory.number()) != 0 && errno != EINVAL)
        fail_io(path, "cannot be written");
}

/// Puts the directory `fresh` in the place of `target`, in one step where the system can.
///
/// \post   `fresh` is gone, or is what `target` was
/// \throws error with errc::already_exists where something is at the target by now and `replace` is false;
///         with errc::io where the system refuses; then both are what they were
inline void put_in_place(std::filesystem::path const& fresh, std::filesystem::path const& target,
                         bool replace) {
    sync_directory(fresh);
    int problem = try_rename(fresh, target);
    if (problem == 0)
        return;
    if (problem != EEXIST && problem != ENOTEMPTY && problem != ENOTDIR)
        fail_io(target, "cannot be put in place", problem);
    if (!replace)
        fail(errc::already_exists, target.string() + ": somebody else made it while the new one " +
                                       "was written; give another target");
    problem = try_exchange(fresh, target);
    if (problem == EINVAL || problem == ENOSYS)
        exchange_in_steps(fresh, target);
    else if (problem != 0)
        fail_io(target, "cannot be replaced", problem);
}

} // namespace reshard::detail

#endif
