// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_SLOT_RING_HPP
#define RESHARD_OS_SLOT_RING_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

/// \file
/// A few slots of shared memory through which one process passes bytes to another.

namespace reshard::detail {

/// The data that both ends of a ring share, other than the slots. All zeros are a new ring.
struct ring_state {
    static constexpr std::uint64_t most_slots = 4;

    alignas(64) std::atomic<std::uint64_t> filled = 0; ///< the number of slots passed so far
    /// For each slot, the number of runs that it lists; 0 if it has bytes.
    std::atomic<std::uint64_t> runs[most_slots] = {};
    alignas(64) std::atomic<std::uint64_t> freed = 0; ///< the number of slots returned so far
    std::atomic<bool> may_list = false;               ///< the receiver can read the sender's memory
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free,
              "atomics that processes share must be lock-free");

/// The slots of a ring in memory.
struct ring_slots {
    std::byte* first = nullptr;
    std::size_t bytes = 0; ///< the size of each slot
    std::uint64_t count = 1;

    std::byte* at(std::uint64_t number) const { return first + number % count * bytes; }
};

/// The sender's end of a ring. The sender fills slots, and the receiver empties them, in order. No
/// function blocks. A process that gets no slot does other work and tries again.
///
/// A slot has bytes, or it lists runs of the sender's memory, which the receiver reads directly. If
/// the receiver cannot read them, it requests bytes in the same slot.
class ring_sender {
public:
    /// \pre `shared` and the slots outlive this object, no other sender has used them, and there
    ///      are at most `ring_state::most_slots` slots
    ring_sender(ring_state& shared, ring_slots slots) : shared_(&shared), slots_(slots) {}

    /// The next slot to fill, or null while all slots are full.
    std::byte* slot() {
        if (filled_ - freed_ == slots_.count)
            freed_ = shared_->freed.load(std::memory_order_acquire);
        return filled_ - freed_ == slots_.count ? nullptr : slots_.at(filled_);
    }

    /// Passes the slot to the receiver, with bytes or with a list of `runs`. The receiver sees all
    /// earlier writes to the slot.
    ///
    /// \pre `slot()` is not null
    void pass(std::uint64_t runs = 0) {
        shared_->runs[filled_ % slots_.count].store(runs, std::memory_order_relaxed);
        shared_->filled.store(++filled_, std::memory_order_release);
    }

    std::size_t slot_bytes() const { return slots_.bytes; }

    /// True if the receiver accepts lists.
    bool may_list() const { return shared_->may_list.load(std::memory_order_relaxed); }

    /// The number of slots passed so far.
    std::uint64_t filled() const { return filled_; }

    /// True if the receiver has returned all slots.
    bool is_empty() {
        freed_ = shared_->freed.load(std::memory_order_acquire);
        return filled_ == freed_;
    }

    /// The number of the slot whose list the receiver refused, or `filled()` if there is none.
    std::uint64_t refused() {
        if (is_empty())
            return filled_;
        bool const is_refused =
            shared_->runs[freed_ % slots_.count].load(std::memory_order_acquire) == refused_runs;
        return is_refused ? freed_ : filled_;
    }

    /// The slot with this number.
    std::byte* at(std::uint64_t number) const { return slots_.at(number); }

    /// Passes the refused slot again, with bytes.
    void replace(std::uint64_t number) {
        shared_->runs[number % slots_.count].store(0, std::memory_order_release);
    }

private:
    friend class ring_receiver;

    static constexpr std::uint64_t refused_runs = ~std::uint64_t{0};

    ring_state* shared_;
    ring_slots slots_;
    std::uint64_t filled_ = 0;
    std::uint64_t freed_ = 0;
};

/// The receiver's end of a ring; see `ring_sender`.
class ring_receiver {
public:
    /// \pre the same as for `ring_sender`
    ring_receiver(ring_state& shared, ring_slots slots) : shared_(&shared), slots_(slots) {}

    /// The next slot that the sender has passed, or null if there is none.
    std::byte const* slot() {
        if (filled_ == freed_)
            filled_ = shared_->filled.load(std::memory_order_acquire);
        bool const has_slot = filled_ != freed_ && runs() != ring_sender::refused_runs;
        return has_slot ? slots_.at(freed_) : nullptr;
    }

    /// The number of runs that the slot lists; 0 if it has bytes.
    ///
    /// \pre there is a slot that was passed, here and below
    std::uint64_t runs() const {
        return shared_->runs[freed_ % slots_.count].load(std::memory_order_acquire);
    }

    /// Requests bytes instead of the list, for this slot and later slots.
    void refuse() {
        allow_lists(false);
        shared_->runs[freed_ % slots_.count].store(ring_sender::refused_runs,
                                                   std::memory_order_release);
    }

    /// Sets whether the sender may list runs.
    void allow_lists(bool are_allowed) {
        shared_->may_list.store(are_allowed, std::memory_order_relaxed);
    }

    /// Returns the slot to the sender.
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
