// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_PUT_IN_PLACE_IPP
#define RESHARD_STORAGE_IMPL_PUT_IN_PLACE_IPP

#include <reshard/storage/put_in_place.hpp>

#include <reshard/os/mapped_file.hpp>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace reshard::detail {

/// Lets two names change their places; returns 0 or what the system says.
inline int try_exchange(std::filesystem::path const& a, std::filesystem::path const& b) {
    constexpr unsigned exchange_both = 2; // RENAME_EXCHANGE
    return ::syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), exchange_both) == 0
               ? 0
               : errno;
}

RESHARD_DECL void exchange_in_steps(std::filesystem::path const& fresh,
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

RESHARD_DECL void sync_directory(std::filesystem::path const& path) {
    file_descriptor const directory = file_descriptor::open(path, O_RDONLY | O_DIRECTORY);
    if (::fsync(directory.number()) != 0 && errno != EINVAL)
        fail_io(path, "cannot be written");
}

RESHARD_DECL void put_in_place(std::filesystem::path const& fresh,
                               std::filesystem::path const& target, bool replace) {
    sync_directory(fresh);
    int problem = try_rename(fresh, target);
    if (problem == 0)
        return;
    if (problem != EEXIST && problem != ENOTEMPTY && problem != ENOTDIR)
        fail_io(target, "cannot be put in place", problem);
    if (!replace)
        fail(errc::already_exists, target.string() +
                                       ": another process created it while the new one " +
                                       "was written; give another target");
    problem = try_exchange(fresh, target);
    if (problem == EINVAL || problem == ENOSYS)
        exchange_in_steps(fresh, target);
    else if (problem != 0)
        fail_io(target, "cannot be replaced", problem);
}

} // namespace reshard::detail

#endif
