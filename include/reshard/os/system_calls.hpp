// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_SYSTEM_CALLS_HPP
#define RESHARD_OS_SYSTEM_CALLS_HPP

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/types.h>

/// \file
/// What sharing memory asks of the system, and may be refused.

namespace reshard::detail {

/// The calls by which processes share memory. Another table stands for a system that refuses some.
///
/// \par Units bytes; descriptors and error numbers are the system's, failure is -1 with `errno` set
struct system_calls {
    /// A file without a name. Linux has it.
    int (*create_unnamed)(char const* label) = [](char const* label) {
#if defined(MFD_CLOEXEC)
        return ::memfd_create(label, MFD_CLOEXEC);
#else
        static_cast<void>(label);
        errno = ENOSYS;
        return -1;
#endif
    };

    /// A new file in the memory that the system has for named segments.
    int (*create_named)(char const* name) = [](char const* name) {
        return ::shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    };

    /// Another process's file, by a path below /proc.
    int (*open_unnamed)(char const* path) = [](char const* path) {
        return ::open(path, O_RDWR | O_CLOEXEC);
    };

    int (*open_named)(char const* name) = [](char const* name) {
        return ::shm_open(name, O_RDWR, 0);
    };

    /// Takes memory for the whole file now, so that writing to it later cannot fail. Returns the
    /// error.
    int (*reserve)(int file, off_t bytes) = [](int file, off_t bytes) {
        constexpr off_t piece = off_t{64} << 20; // a signal undoes no more than a piece
        int problem = 0;
        for (off_t done = 0; done < bytes && problem == 0; done += piece)
            do
                problem = ::posix_fallocate(file, done, std::min(piece, bytes - done));
            while (problem == EINTR);
        return problem;
    };
};

} // namespace reshard::detail

#endif
