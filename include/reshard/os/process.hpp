// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_PROCESS_HPP
#define RESHARD_OS_PROCESS_HPP

#include <reshard/core/config.hpp>

#include <cstdint>

/// \file
/// Which process this is, and whether another one has ended.

namespace reshard::detail {

/// A process of this machine, distinct from a later one with its number.
struct process_mark {
    std::uint64_t number = 0;  ///< 0: none
    std::uint64_t started = 0; ///< in ticks of the system's clock; 0: not known
    std::uint64_t space = 0;   ///< of process numbers: each container has its own; 0: not known

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.number, self.started, self.space);
    }

    bool operator==(process_mark const&) const = default;
};

RESHARD_DECL process_mark this_process();

/// A number that no other call gives, in any process; not 0.
RESHARD_DECL std::uint64_t new_token();

/// True if a process has certainly ended, also if its parent has not waited for it yet. False for a
/// process of another space of numbers, because this process cannot see it.
RESHARD_DECL bool has_ended(process_mark const& mark);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/os/impl/process.ipp>
#endif

#endif
