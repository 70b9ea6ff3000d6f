// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_PROCESS_HPP
#define RESHARD_OS_PROCESS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

/// \file
/// Which process this is, whether another one has ended, and waiting for one that tells nobody when
/// it is ready.

namespace reshard::detail {

/// A process of this machine, told from a later one that gets its number.
struct process_mark {
    std::uint64_t number = 0;  ///< 0: none
    std::uint64_t started = 0; ///< in ticks of the system's clock; 0: not known
    std::uint64_t space = 0;   ///< of numbers, as each container has its own; 0: not known

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.number, self.started, self.space);
    }

    bool operator==(process_mark const&) const = default;
};

RESHARD_DECL process_mark this_process();

/// A number that no other call gives, in any process; not 0.
RESHARD_DECL std::uint64_t new_token();

/// True where a process has certainly ended, also where its parent has not asked yet. One of
/// another space of numbers, which cannot be seen, has not.
RESHARD_DECL bool has_ended(process_mark const& mark);

/// The time that passes, and how a process lets others work meanwhile: the longer it has waited,
/// the longer it sleeps between two looks.
class waiting {
public:
    explicit waiting(double most_seconds) : most_(most_seconds) {}

    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    }

    bool is_over() const { return seconds() >= most_; }

    void pause() {
        if (++pauses_ < 20)
            return std::this_thread::yield();
        std::this_thread::sleep_for(sleep_);
        sleep_ = std::min(2 * sleep_, std::chrono::microseconds(2000));
    }

private:
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    double most_;
    int pauses_ = 0;
    std::chrono::microseconds sleep_{20};
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/os/impl/process.ipp>
#endif

#endif
