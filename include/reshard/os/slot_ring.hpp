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
    static constexpr std::uint64_t most_slots = 4;

    alignas(64) std::atomic<std::uint64_t> filled = 0; ///< slots that were ever handed over
    /// By slot: the number of runs that it lists. 0: it has bytes.
    std::atomic<std::uint64_t> runs[most_slots] = {};
    alignas(64) std::atomic<std::uint64_t> freed = 0; ///< slots that were ever given back
    std::atomic<bool> may_list = false;               ///< the receiver can read the sender's memory
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
/// A slot has bytes, or lists runs of the sender's memory, which the receiver then reads there. A
/// receiver that cannot read them asks for bytes in the same slot.
class ring_sender {
public:
    /// \pre `shared` and the slots outlive the end, no other sender has used them, and there are
    ///      `ring_state::most_slots` at most
    ring_sender(ring_state& shared, ring_slots slots) : shared_(&shared), slots_(slots) {}

    /// A slot to write to, or null while all are full.
    std::byte* slot() {
        if (filled_ - freed_ == slots_.count)
            freed_ = shared_->freed.load(std::memory_order_acquire);
        return filled_ - freed_ == slots_.count ? nullptr : slots_.at(filled_);
    }

    /// Hands over the slot, with bytes or a list of `runs`; writes to it are visible to the
    /// receiver.
    ///
    /// \pre `slot()` is not null
    void pass(std::uint64_t runs = 0) {
        shared_->runs[filled_ % slots_.count].store(runs, std::memory_order_relaxed);
        shared_->filled.store(++filled_, std::memory_order_release);
    }

    std::size_t slot_bytes() const { return slots_.bytes; }

    /// True if the receiver takes lists.
    bool may_list() const { return shared_->may_list.load(std::memory_order_relaxed); }

    /// The number of slots that were ever handed over.
    std::uint64_t filled() const { return filled_; }

    /// True if all slots were given back.
    bool is_empty() {
        freed_ = shared_->freed.load(std::memory_order_acquire);
        return filled_ == freed_;
    }

    /// The number of the slot whose list the receiver refused; `filled()` if there is none.
    std::uint64_t refused() {
        if (is_empty())
            return filled_;
        bool const is_refused =
            shared_->runs[freed_ % slots_.count].load(std::memory_order_acquire) == refused_runs;
        return is_refused ? freed_ : filled_;
    }

    /// The slot with this number.
    std::byte* at(std::uint64_t number) const { return slots_.at(number); }

    /// Hands over the refused slot again, with bytes.
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

/// The receiving process's end of a ring: see `ring_sender`.
class ring_receiver {
public:
    /// \pre as for the sender
    ring_receiver(ring_state& shared, ring_slots slots) : shared_(&shared), slots_(slots) {}

    /// The next slot that was handed over, or null while there is none.
    std::byte const* slot() {
        if (filled_ == freed_)
            filled_ = shared_->filled.load(std::memory_order_acquire);
        bool const has_slot = filled_ != freed_ && runs() != ring_sender::refused_runs;
        return has_slot ? slots_.at(freed_) : nullptr;
    }

    /// The number of runs that the slot lists; 0 if it has bytes.
    ///
    /// \pre a slot was handed over; here and below
    std::uint64_t runs() const {
        return shared_->runs[freed_ % slots_.count].load(std::memory_order_acquire);
    }

    /// Asks for bytes in place of the list, here and in later slots.
    void refuse() {
        allow_lists(false);
        shared_->runs[freed_ % slots_.count].store(ring_sender::refused_runs,
                                                   std::memory_order_release);
    }

    /// Whether the sender may list runs.
    void allow_lists(bool are_allowed) {
        shared_->may_list.store(are_allowed, std::memory_order_relaxed);
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
