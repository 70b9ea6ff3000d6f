// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_PROCESS_HPP
#define RESHARD_OS_PROCESS_HPP

#include <reshard/core/config.hpp>

#include <cstdint>

/// \file
/// Identifies this process, and checks whether another process has ended.

namespace reshard::detail {

/// Identifies a process of this machine. A later process with the same number is different.
struct process_mark {
    std::uint64_t number = 0;  ///< 0: none
    std::uint64_t started = 0; ///< in ticks of the system's clock; 0: unknown
    std::uint64_t space = 0;   ///< the namespace of the number, as of a container; 0: unknown

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.number, self.started, self.space);
    }

    bool operator==(process_mark const&) const = default;
};

RESHARD_DECL process_mark this_process();

/// A random number other than 0. No other call returns the same number, in any process.
///
/// \throws error with errc::unsupported if the system has no random numbers
RESHARD_DECL std::uint64_t new_token();

/// True if a process has certainly ended, even if its parent has not waited for it yet. False for a
/// process in another namespace of process numbers, because this process cannot see it.
RESHARD_DECL bool has_ended(process_mark const& mark);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/os/impl/process.ipp>
#endif

#endif
