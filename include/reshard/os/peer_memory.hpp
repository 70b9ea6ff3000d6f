// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_PEER_MEMORY_HPP
#define RESHARD_OS_PEER_MEMORY_HPP

#include <reshard/core/config.hpp>
#include <reshard/os/system_calls.hpp>

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <span>

/// \file
/// Memory of another process, read without its doing.

namespace reshard {

/// The most runs that the system takes in one call, on either side.
inline constexpr std::size_t most_runs_a_call = 256;

namespace detail {

/// Drops the first `bytes` of a list of runs.
RESHARD_DECL void drop(std::span<iovec>& runs, std::size_t bytes);

} // namespace detail

/// Reads runs of another process's memory into runs of one's own, one behind the other.
///
/// The system may do a part of it at a time; it may also refuse, in a container without the right to trace,
/// or where the other process has another user.
///
/// \pre as many bytes in `remote` as in `local`, at most `most_runs_a_call` runs in each; both are used up
/// \throws error with errc::io where the system refuses, naming the process and the reason
RESHARD_DECL void read_peer(pid_t process, std::span<iovec> local, std::span<iovec> remote,
                            system_calls const& calls = {});

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/os/impl/peer_memory.ipp>
#endif

#endif
