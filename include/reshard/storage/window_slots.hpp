// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_WINDOW_SLOTS_HPP
#define RESHARD_STORAGE_WINDOW_SLOTS_HPP

#include <reshard/core/vector.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/node_segments.hpp>
#include <reshard/os/shared_barrier.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>

/// \file
/// Passes windows of files between the ranks of a node, through shared memory.

namespace reshard::detail {

/// The size of the largest window that may pass through slots. Only windows of large chunks are
/// larger.
inline constexpr std::uint64_t most_slot_bytes = std::uint64_t{16} << 20;

/// Memory through which the ranks of a node pass windows to each other.
///
/// Each rank has two slots. It fills one slot in round `i`, while other ranks may still read the
/// other slot, which it filled in round `i - 1`. So one meeting per round is enough. A slot has one
/// window, or several small windows.
class window_slots {
public:
    /// The most windows in a slot.
    static constexpr std::size_t most_windows = 32;

    /// Uses private memory if the node has only one rank.
    ///
    /// \par Collective every rank of the node, in the same order
    /// \throws error with errc::io, on every rank, if a rank cannot get shared memory
    window_slots(mpi_group const& node, std::uint64_t bytes, segment_kind kind)
        : node_(node), bytes_((bytes + 4095) / 4096 * 4096) {
        auto const all_bytes = static_cast<index_t>(2 * (head_bytes + bytes_));
        if (node.size() == 1) {
            alone_.emplace(all_bytes);
        } else {
            segments_.emplace(node, all_bytes, segment_request{kind, {}, {}});
            barrier_.emplace(segments_->barrier(), static_cast<std::uint32_t>(node.size()));
        }
        for (std::size_t i = 0; i < 2; ++i)
            new (head(own(), i)) std::atomic<std::uint32_t>(0);
    }

    std::byte* slot(std::size_t rank, std::size_t round) const {
        return head(rank, round) + head_bytes;
    }

    std::byte* own_slot(std::size_t round) const { return slot(own(), round); }

    /// Sets, as bits, which windows of its slot this rank has filled. Other ranks see the bits
    /// after the next meeting.
    void set_filled(std::size_t round, std::uint32_t windows) const {
        state(own(), round).store(windows, std::memory_order_relaxed);
    }
    bool is_filled(std::size_t rank, std::size_t round, std::size_t window = 0) const {
        return (state(rank, round).load(std::memory_order_relaxed) >> window & 1) != 0;
    }

    /// Returns when all ranks of the node have called it.
    ///
    /// \throws error with errc::deadline
    void meet() const {
        bounded_wait wait(node_.limit());
        if (barrier_)
            barrier_->wait([&] { wait.look(); });
    }

private:
    static constexpr std::size_t head_bytes = 4096;

    std::size_t own() const { return static_cast<std::size_t>(node_.rank()); }
    std::byte* head(std::size_t rank, std::size_t round) const {
        std::byte* const both = alone_ ? alone_->data() : segments_->data(static_cast<int>(rank));
        return both + round % 2 * (head_bytes + bytes_);
    }
    std::atomic<std::uint32_t>& state(std::size_t rank, std::size_t round) const {
        return *std::launder(reinterpret_cast<std::atomic<std::uint32_t>*>(head(rank, round)));
    }

    mpi_group node_;
    std::size_t bytes_;
    std::optional<private_memory> alone_;
    std::optional<node_segments> segments_;
    std::optional<shared_barrier> barrier_;
};

/// Creates slots for the ranks of a node; null if the node cannot get the memory.
///
/// \par Collective every rank of the node, in the same order
inline std::unique_ptr<window_slots> make_slots(mpi_group const& node, std::uint64_t bytes) {
    std::string refusal; // ignored: the caller can do without slots
    auto const make = [&](segment_kind kind) {
        return std::make_unique<window_slots>(node, bytes, kind);
    };
    if (node.size() > 1)
        return with_segments(node, refusal, make);
    std::unique_ptr<window_slots> slots; // in private memory
    static_cast<void>(attempt([&] { slots = make(segment_kind::unnamed); }));
    return slots;
}

/// All ranks of a node, beginning with this rank.
inline vector<std::size_t> ranks_from_own(mpi_group const& node) {
    auto const size = static_cast<std::size_t>(node.size());
    vector<std::size_t> order;
    for (std::size_t step = 0; step < size; ++step)
        order.push_back((static_cast<std::size_t>(node.rank()) + step) % size);
    return order;
}

/// Divides items among the ranks of a node, and into rounds. Each rank gets consecutive items, so
/// that ranks work in different files if possible.
class slot_rounds {
public:
    slot_rounds(mpi_group const& node, std::size_t items)
        : me_(static_cast<std::size_t>(node.rank())),
          ranks_(static_cast<std::size_t>(node.size())),
          items_(items) {}

    std::size_t me() const { return me_; }
    std::size_t size() const { return (items_ + ranks_ - 1) / ranks_; }

    std::optional<std::size_t> item_of(std::size_t rank, std::size_t round) const {
        std::size_t const item = items_ * rank / ranks_ + round;
        return item < items_ * (rank + 1) / ranks_ ? std::optional(item) : std::nullopt;
    }

private:
    std::size_t me_;
    std::size_t ranks_;
    std::size_t items_;
};

} // namespace reshard::detail

#endif
