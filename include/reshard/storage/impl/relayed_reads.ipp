// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_RELAYED_READS_IPP
#define RESHARD_STORAGE_IMPL_RELAYED_READS_IPP

#include <reshard/core/vector.hpp>
#include <reshard/storage/shared_reads.hpp>

#include <reshard/group/gather_values.hpp>
#include <reshard/mpi/sparse_exchange.hpp>
#include <reshard/plan/relays.hpp>
#include <reshard/storage/window_slots.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace reshard::detail {

/// Passes windows from node to node, in rounds. In each round, rank `r` of the `n` ranks of every
/// node fills its slot with the windows of turns `r`, `r + n`, and so on.
///
/// A rank waits only for other ranks in the same round or earlier rounds. So there is no deadlock.
class window_relay {
public:
    /// The most windows of a rank in a round.
    static constexpr std::size_t most_windows = 8;
    static_assert(most_windows <= window_slots::most_windows);

    /// \param most_bytes the size of the largest window, on every rank
    /// \pre   nothing else sends messages in `ranks`; `nodes`, `relayed` and `reader` outlive this
    ///        object
    window_relay(mpi_group const& ranks, group_nodes const& nodes, relayed_windows const& relayed,
                 chunk_reader& reader, std::uint64_t most_bytes)
        : nodes_(nodes),
          relayed_(relayed),
          reader_(reader),
          window_bytes_((most_bytes + 63) / 64 * 64), // elements are aligned in their slots
          windows_each_(std::clamp<std::size_t>(most_slot_bytes / window_bytes_, 1, most_windows)),
          messages_{posted_messages(ranks, windows_each_), posted_messages(ranks, windows_each_)} {}

    std::uint64_t slot_bytes() const { return windows_each_ * window_bytes_; }
    std::size_t windows_each() const { return windows_each_; }

    std::size_t rounds() const {
        auto const& windows = relayed_.windows();
        std::uint64_t const each = parts() * windows_each_;
        return windows.empty() ? 0 : static_cast<std::size_t>(windows.back().turn / each + 1);
    }

    /// The window in an entry of a rank's slot, or null.
    relayed_window const* window_at(std::size_t rank, std::size_t round, std::size_t entry) const {
        if (rank >= parts())
            return nullptr;
        return relayed_.find((std::uint64_t{round} * windows_each_ + entry) * parts() + rank);
    }

    /// The offset of an entry's bytes in a slot.
    std::size_t offset(std::size_t entry) const { return entry * window_bytes_; }

    byte_run bytes_of(relayed_window const& window) const {
        return reader_.whole_chunks(window.window.position, window.window.bytes);
    }

    /// Posts the receives for the windows that other nodes send in a round.
    ///
    /// \pre  no rank copies from the slot any more
    /// \throws error with errc::deadline
    void begin(std::byte* slot, std::size_t round) {
        messages(round).finish();
        for_each_own(round, [&](std::size_t entry, relayed_window const& window) {
            if (std::uint32_t const index = place_of(window); index > 0)
                messages(round).receive(
                    slot + offset(entry), bytes_of(window).size(),
                    rank_at(window, step_of(index, count_of(window), branches_of(window)).parent),
                    static_cast<int>(entry));
        });
    }

    /// Fills this rank's slot, and passes the windows on.
    ///
    /// \return as bits: which windows of this rank have arrived or were read
    /// \throws error with errc::deadline
    std::uint32_t fill(std::byte* slot, std::size_t round, local_error& problem) {
        std::uint32_t filled = 0;
        auto const take = [&](std::size_t entry, relayed_window const& window, bool exists) {
            filled |= std::uint32_t{exists} << entry;
            pass_on(slot, round, entry, window, exists);
        };
        for_each_own(round, [&](std::size_t entry, relayed_window const& window) {
            if (place_of(window) == 0)
                take(entry, window, read(slot + offset(entry), window, problem));
        });
        messages(round).take_all([&](int tag, std::size_t bytes) {
            auto const entry = static_cast<std::size_t>(tag);
            take(entry, *window_at(me(), round, entry), bytes > 0);
        });
        return filled;
    }

    /// Lets MPI continue to send a round's windows while this rank does other work.
    void progress(std::size_t round) { messages(round).are_sent(); }

    /// Returns when all sends are complete.
    ///
    /// \throws error with errc::deadline
    void finish() {
        for (posted_messages& of_slot : messages_)
            of_slot.finish();
    }

private:
    /// The number of ranks of each node that receive windows.
    std::size_t parts() const { return nodes_.least_ranks; }
    std::size_t me() const { return static_cast<std::size_t>(nodes_.own.group.rank()); }

    /// The number of positions by which the list of a window's nodes is rotated, so that all nodes
    /// read about equally many windows.
    std::size_t rotation(relayed_window const& window) const {
        return static_cast<std::size_t>(window.turn / parts() % relayed_.nodes(window).size());
    }

    /// The position of this node in the rotated list of a window's nodes.
    std::uint32_t place_of(relayed_window const& window) const {
        auto const& receivers = relayed_.nodes(window);
        auto const index = static_cast<std::size_t>(
            std::ranges::lower_bound(receivers, nodes_.number) - receivers.begin());
        return static_cast<std::uint32_t>((index + receivers.size() - rotation(window)) %
                                          receivers.size());
    }

    /// On the node at a position, the rank that corresponds to this rank.
    int rank_at(relayed_window const& window, std::uint32_t index) const {
        auto const& receivers = relayed_.nodes(window);
        return nodes_.ranks[receivers[(index + rotation(window)) % receivers.size()]][me()];
    }

    std::uint32_t count_of(relayed_window const& window) const {
        return static_cast<std::uint32_t>(relayed_.nodes(window).size());
    }
    std::uint32_t branches_of(relayed_window const& window) const {
        return branches_for(relayed_.nodes(window).size(), windows_each_);
    }

    void for_each_own(std::size_t round, auto&& visit) const {
        for (std::size_t entry = 0; entry < windows_each_; ++entry)
            if (relayed_window const* const window = window_at(me(), round, entry))
                visit(entry, *window);
    }

    bool read(std::byte* into, relayed_window const& window, local_error& problem) {
        if (!problem)
            problem =
                attempt([&] { reader_.read_to(into, window.window.position, bytes_of(window)); });
        return !problem;
    }

    /// Sends a window to the nodes that follow this node. Sends no bytes if the window could not be
    /// read.
    void pass_on(std::byte const* slot, std::size_t round, std::size_t entry,
                 relayed_window const& window, bool exists) {
        std::size_t const bytes = exists ? bytes_of(window).size() : 0;
        for_each_child(place_of(window), count_of(window), branches_of(window),
                       [&](std::uint32_t child) {
                           messages(round).send(slot + offset(entry), bytes, rank_at(window, child),
                                                static_cast<int>(entry));
                       });
    }

    posted_messages& messages(std::size_t round) { return messages_[round % 2]; }

    group_nodes const& nodes_;
    relayed_windows const& relayed_;
    chunk_reader& reader_;
    std::uint64_t window_bytes_;
    std::size_t windows_each_;
    std::array<posted_messages, 2> messages_; ///< by slot
};

/// Copies the elements that this rank needs from the windows in the slots of its node.
inline void copy_round(window_slots const& slots, window_relay& relay, mpi_group const& node,
                       window_reads& reads, std::size_t round) {
    for (std::size_t const rank : ranks_from_own(node))
        for (std::size_t entry = 0; entry < relay.windows_each(); ++entry) {
            relayed_window const* const relayed_window = relay.window_at(rank, round, entry);
            if (!relayed_window || !slots.is_filled(rank, round, entry))
                continue;
            window_run const& window = relayed_window->window;
            reads.run(window, window.bytes,
                      slots.slot(rank, round) + relay.offset(entry) +
                          (window.bytes.begin - relay.bytes_of(*relayed_window).begin));
            relay.progress(round);
        }
}

/// \return the error of this rank's reads or copies; the rank continues, since other ranks wait
///         for it
/// \throws error with errc::deadline
inline local_error run_rounds(window_slots const& slots, window_relay& relay, mpi_group const& node,
                              window_reads& reads) {
    local_error problem;
    std::size_t const rounds = relay.rounds();
    if (rounds > 0)
        relay.begin(slots.own_slot(0), 0);
    for (std::size_t round = 0; round < rounds; ++round) {
        slots.set_filled(round, relay.fill(slots.own_slot(round), round, problem));
        slots.meet();
        // All ranks have copied from the other slot. The next windows arrive there while the ranks
        // copy from this slot.
        if (round + 1 < rounds)
            relay.begin(slots.own_slot(round + 1), round + 1);
        keep_first(problem, attempt([&] { copy_round(slots, relay, node, reads, round); }));
    }
    relay.finish();
    return problem;
}

/// Memory that messages may still use after a deadline has ended a wait.
struct relay_memory {
    std::unique_ptr<window_slots> slots;
    std::unique_ptr<window_relay> relay;
};

RESHARD_DECL local_error read_relayed(mpi_group const& world, chunk_reader& reader,
                                      window_reads& reads, vector<window_run>& runs,
                                      file_reads file_reads) {
    group_nodes const nodes = nodes_of(world);
    if (nodes.ranks.size() == 1)
        return std::nullopt;
    auto const [relayed, most_bytes] = find_relayed(world, nodes, reader, reads, runs, file_reads);
    if (most_bytes == 0) // on all nodes
        return std::nullopt;
    mpi_group const ranks = mpi_group::duplicate_of(world);
    request_memory<relay_memory> memory;
    agree_on(world, [&] {
        memory->relay = std::make_unique<window_relay>(ranks, nodes, relayed, reader, most_bytes);
    });
    memory->slots = make_slots(nodes.own.group, memory->relay->slot_bytes());
    auto const has_slots = gather_values(world, memory->slots != nullptr);
    local_error problem;
    if (std::ranges::find(has_slots, false) == has_slots.end()) {
        problem = run_rounds(*memory->slots, *memory->relay, nodes.own.group, reads);
        vector<window_run> done;
        for (relayed_window const& window : relayed.windows())
            done.push_back(window.window);
        runs = windows_without(reads, runs, done);
    }
    memory.set_finished();
    return problem;
}

} // namespace reshard::detail

#endif
