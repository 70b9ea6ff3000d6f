// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_SLOT_RING_HPP
#define RESHARD_OS_SLOT_RING_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

/// \file
/// A few slots of shared memory through which one process hands bytes to another.

namespace reshard::detail {

/// The data that the two ends of a ring share beside its slots; zeros are a new one.
struct ring_state {
    alignas(64) std::atomic<std::uint64_t> filled = 0; ///< slots that were ever handed over
    alignas(64) std::atomic<std::uint64_t> freed = 0;  ///< slots that were ever given back
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "atomics are shared by processes");

/// The slots of a ring in memory.
struct ring_slots {
    std::byte* first = nullptr;
    std::size_t bytes = 0; ///< of each slot
    std::uint64_t count = 1;

    std::byte* at(std::uint64_t number) const { return first + number % count * bytes; }
};

/// The sending process's end of a ring. The sender fills slots, and the receiver empties them, in
/// order. Nothing blocks here: a process that gets no slot does something else and asks again.
///
/// The slots are so small that they stay in the caches of both processes. Copying through them
/// costs less than a second copy through memory.
class ring_sender {
public:
    /// \pre `shared` and the slots outlive the end, and no other sender has used them
    ring_sender(ring_state& shared, ring_slots slots) : shared_(&shared), slots_(slots) {}

    /// A slot to write to, or null while all are full.
    std::byte* slot() {
        if (filled_ - freed_ == slots_.count)
            freed_ = shared_->freed.load(std::memory_order_acquire);
        return filled_ - freed_ == slots_.count ? nullptr : slots_.at(filled_);
    }

    /// Hands over the slot; writes to it are visible to the receiver.
    ///
    /// \pre `slot()` is not null
    void pass() { shared_->filled.store(++filled_, std::memory_order_release); }

private:
    ring_state* shared_;
    ring_slots slots_;
    std::uint64_t filled_ = 0;
    std::uint64_t freed_ = 0;
};

/// The receiving process's end of a ring: see `ring_sender`.
class ring_receiver {
public:
    /// \pre as for the sender
    ring_receiver(ring_state& shared, ring_slots slots) : shared_(&shared), slots_(slots) {}

    /// The next slot that was handed over, or null while there is none.
    std::byte const* slot() {
        if (filled_ == freed_)
            filled_ = shared_->filled.load(std::memory_order_acquire);
        return filled_ == freed_ ? nullptr : slots_.at(freed_);
    }

    /// Gives back the slot.
    ///
    /// \pre `slot()` is not null
    void pass() { shared_->freed.store(++freed_, std::memory_order_release); }

private:
    ring_state* shared_;
    ring_slots slots_;
    std::uint64_t filled_ = 0;
    std::uint64_t freed_ = 0;
};

} // namespace reshard::detail

#endif
