// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_SHARED_BARRIER_HPP
#define RESHARD_OS_SHARED_BARRIER_HPP

#include <atomic>
#include <cstdint>
#include <sched.h>

/// \file
/// A barrier in shared memory. It works well with more processes than cores.

namespace reshard::detail {

/// The state of a barrier in the memory that its members share. All zeros are a new barrier.
struct barrier_state {
    alignas(64) std::atomic<std::uint32_t> arrived = 0;
    alignas(64) std::atomic<std::uint32_t> round = 0;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free,
              "atomics that processes share must be lock-free");

/// Blocks each member until all members have arrived.
///
/// A member polls a few times, then yields its core. If there are more members than cores, other
/// members need the core to arrive.
class shared_barrier {
public:
    /// \pre `members > 0` is the same number for all members, and `shared` outlives the barrier
    shared_barrier(barrier_state& shared, std::uint32_t members)
        : shared_(&shared), members_(members) {}

    /// Returns when all members have called it. Writes that a member made before its call are
    /// visible afterwards.
    ///
    /// \param idle is called between two polls, before the core is yielded, for work that other
    ///             members may wait for
    void wait(auto&& idle) const {
        std::uint32_t const round = shared_->round.load(std::memory_order_acquire);
        if (shared_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
            shared_->arrived.store(0, std::memory_order_relaxed);
            shared_->round.store(round + 1, std::memory_order_release);
            return;
        }
        while (!has_ended(round)) {
            idle();
            ::sched_yield();
        }
    }

    void wait() const {
        wait([] {});
    }

private:
    static constexpr int looks = 64;

    bool has_ended(std::uint32_t round) const {
        for (int i = 0; i < looks; ++i) {
            if (shared_->round.load(std::memory_order_acquire) != round)
                return true;
#if defined(__SSE2__)
            __builtin_ia32_pause(); // avoids the 2,700 lines of <emmintrin.h>
#endif
        }
        return false;
    }

    barrier_state* shared_;
    std::uint32_t members_;
};

} // namespace reshard::detail

#endif
