// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_PEER_MEMORY_HPP
#define RESHARD_OS_PEER_MEMORY_HPP

#include <reshard/core/error.hpp>
#include <reshard/os/system_calls.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <sys/types.h>
#include <sys/uio.h>
#include <system_error>

/// \file
/// Memory of another process, read without its doing.

namespace reshard {

/// The most runs that the system takes in one call, on either side.
inline constexpr std::size_t most_runs_a_call = 256;

namespace detail {

/// Drops the first `bytes` of a list of runs.
inline void drop(std::span<iovec>& runs, std::size_t bytes) {
    while (!runs.empty() && bytes >= runs.front().iov_len) {
        bytes -= runs.front().iov_len;
        runs = runs.subspan(1);
    }
    if (bytes > 0) {
        runs.front().iov_base = static_cast<std::byte*>(runs.front().iov_base) + bytes;
        runs.front().iov_len -= bytes;
    }
}

} // namespace detail

/// Reads runs of another process's memory into runs of one's own, one behind the other.
///
/// The system may do a part of it at a time; it may also refuse, in a container without the right to trace,
/// or where the other process has another user.
///
/// \pre as many bytes in `remote` as in `local`, at most `most_runs_a_call` runs in each; both are used up
/// \throws error with errc::io where the system refuses, naming the process and the reason
inline void read_peer(pid_t process, std::span<iovec> local, std::span<iovec> remote,
                      system_calls const& calls = {}) {
    while (!local.empty()) {
        ssize_t const got =
            calls.read_process(process, local.data(), local.size(), remote.data(), remote.size());
        if (got > 0) {
            detail::drop(local, static_cast<std::size_t>(got));
            detail::drop(remote, static_cast<std::size_t>(got));
        } else if (got == 0 || errno != EINTR) {
            fail(errc::io,
                 "the memory of process " + std::to_string(process) + " cannot be read: " +
                     (got == 0 ? "nothing came" : std::generic_category().message(errno)) +
                     "; without node_exchange::reads, ranks pass slots or messages");
        }
    }
}

} // namespace reshard

#endif
