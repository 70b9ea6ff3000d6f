// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_IMPL_PEER_MEMORY_IPP
#define RESHARD_OS_IMPL_PEER_MEMORY_IPP

#include <reshard/os/peer_memory.hpp>

#include <reshard/core/error.hpp>

#include <cerrno>
#include <string>
#include <system_error>

namespace reshard {

namespace detail {

RESHARD_DECL void drop(std::span<iovec>& runs, std::size_t bytes) {
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

RESHARD_DECL void read_peer(pid_t process, std::span<iovec> local, std::span<iovec> remote,
                            system_calls const& calls) {
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
