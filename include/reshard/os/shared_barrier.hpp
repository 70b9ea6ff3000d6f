// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_SHARED_BARRIER_HPP
#define RESHARD_OS_SHARED_BARRIER_HPP

#include <atomic>
#include <cstdint>
#include <sched.h>

/// \file
/// A barrier in shared memory for more processes than cores.

namespace reshard::detail {

/// The state of a barrier in the memory that its members share; zeros are a new one.
struct barrier_state {
    alignas(64) std::atomic<std::uint32_t> arrived = 0;
    alignas(64) std::atomic<std::uint32_t> round = 0;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "atomics are shared by processes");

/// Lets no member pass before all have arrived.
///
/// A waiter polls a few times, then yields its core: if there are more members than cores, the
/// awaited member needs it.
class shared_barrier {
public:
    /// \pre `members > 0`, the same for all of them, and `shared` outlives the barrier
    shared_barrier(barrier_state& shared, std::uint32_t members)
        : shared_(&shared), members_(members) {}

    /// Returns when all members have called it. Their earlier writes are visible afterwards.
    ///
    /// \param idle called between two polls, before the core is yielded: work that others may wait
    ///             for
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
            __builtin_ia32_pause(); // <emmintrin.h> has it too, with 2,700 more lines
#endif
        }
        return false;
    }

    barrier_state* shared_;
    std::uint32_t members_;
};

} // namespace reshard::detail

#endif
