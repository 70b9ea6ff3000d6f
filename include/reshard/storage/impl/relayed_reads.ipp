// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_RELAYED_READS_IPP
#define RESHARD_STORAGE_IMPL_RELAYED_READS_IPP

#include <reshard/storage/relayed_reads.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/mpi/posted_messages.hpp>
#include <reshard/plan/relays.hpp>
#include <reshard/storage/window_slots.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace reshard::detail {

/// The nodes of a group.
struct group_nodes {
    node_ranks own;
    std::uint32_t number = 0;            ///< of this rank's node
    std::vector<std::vector<int>> ranks; ///< by node, ascending

    /// How many ranks every node has.
    std::size_t least_ranks() const {
        return std::ranges::min(ranks, {}, &std::vector<int>::size).size();
    }
};

/// \par Collective every rank of the group, in the same order
inline group_nodes nodes_of(mpi_group const& world) {
    group_nodes all{agreed_node_of(world), 0, {}};
    std::map<int, std::uint32_t> numbers; // by the first rank
    auto const firsts = gather_values(world, all.own.numbers.front());
    for (int rank = 0; rank < world.size(); ++rank) {
        int const first = firsts[static_cast<std::size_t>(rank)];
        auto const number = static_cast<std::uint32_t>(all.ranks.size());
        auto const [place, is_new] = numbers.emplace(first, number);
        if (is_new)
            all.ranks.emplace_back();
        all.ranks[place->second].push_back(rank);
    }
    all.number = numbers.at(all.own.numbers.front());
    return all;
}

/// The windows that several nodes need, in the order of files, and the nodes that need each.
class relayed_windows {
public:
    std::vector<window_run> const& windows() const { return windows_; }

    /// The nodes that need window `i`, ascending.
    std::vector<std::uint32_t> const& nodes(std::size_t i) const { return sets_[set_of_[i]]; }

    void add(window_run const& window, std::vector<std::uint32_t> nodes) {
        auto const [set, is_new] =
            numbers_.emplace(nodes, static_cast<std::uint32_t>(sets_.size()));
        if (is_new)
            sets_.push_back(std::move(nodes));
        windows_.push_back(window);
        set_of_.push_back(set->second);
    }

private:
    std::vector<window_run> windows_;
    std::vector<std::uint32_t> set_of_; ///< by window
    std::vector<std::vector<std::uint32_t>> sets_;
    std::map<std::vector<std::uint32_t>, std::uint32_t> numbers_;
};

/// What nodes need: as replicas need the same, each list is told by the first node that has it.
struct node_lists {
    std::vector<std::vector<window_run>> lists;
    std::vector<std::vector<std::uint32_t>> nodes; ///< by list
};

/// \param own what this rank's node needs
/// \par Collective every rank of the group, in the same order
inline node_lists gather_lists(mpi_group const& world, group_nodes const& nodes,
                               std::vector<window_run> own) {
    auto const digests = gather_values(world, digest_of_all(own));
    std::map<std::uint64_t, std::size_t> numbers;
    node_lists all;
    std::vector<std::size_t> tellers;
    for (std::uint32_t node = 0; node < nodes.ranks.size(); ++node) {
        auto const first = static_cast<std::size_t>(nodes.ranks[node].front());
        auto const [number, is_new] = numbers.emplace(digests[first], all.nodes.size());
        if (is_new) {
            all.nodes.emplace_back();
            tellers.push_back(first);
        }
        all.nodes[number->second].push_back(node);
    }
    if (std::ranges::find(tellers, static_cast<std::size_t>(world.rank())) == tellers.end())
        own.clear();
    auto told = gather_values(world, own);
    for (std::size_t const teller : tellers)
        all.lists.push_back(std::move(told[teller]));
    return all;
}

/// \param mine the windows that this rank needs
/// \par Collective every rank of the group, in the same order
inline relayed_windows find_relayed(mpi_group const& world, group_nodes const& nodes,
                                    chunk_reader const& reader, window_reads const& reads,
                                    std::vector<window_run> const& mine) {
    std::vector<window_run> own;
    for_each_listed(reads, gather_values(nodes.own.group, mine),
                    [&](window_run const& window, auto const&) { own.push_back(window); });
    node_lists const needed = gather_lists(world, nodes, std::move(own));
    std::uint64_t const most = std::min<std::uint64_t>(most_slot_bytes, world.count_limit());
    relayed_windows relayed;
    for_each_listed(reads, needed.lists, [&](window_run const& whole, auto const& entries) {
        std::vector<std::uint32_t> takers;
        for (listed_window const& one : entries)
            takers.insert(takers.end(), needed.nodes[one.list].begin(),
                          needed.nodes[one.list].end());
        std::ranges::sort(takers);
        if (takers.size() > 1 && reader.whole_chunks(whole.place, whole.bytes).size() <= most)
            relayed.add(whole, std::move(takers));
    });
    return relayed;
}

/// Slots for the ranks of a node, which may be one; null where it is refused shared memory.
///
/// \par Collective every rank of the node, in the same order
inline std::unique_ptr<window_slots> slots_of_node(mpi_group const& node, std::uint64_t bytes) {
    if (node.size() > 1)
        return make_slots(node, bytes);
    std::unique_ptr<window_slots> slots;
    static_cast<void>(attempt(
        [&] { slots = std::make_unique<window_slots>(node, bytes, segment_kind::unnamed); }));
    return slots;
}

/// Passes windows on, in rounds: in each, rank `r` of every node fills its slot with the next
/// windows of the `r`-th part of them.
///
/// A round waits for others of the same round alone, and for those before: no rank waits for
/// itself.
class window_relay {
public:
    /// The most windows of a round.
    static constexpr std::size_t most_windows = 8;

    /// \pre `ranks` has messages of its own, and all live as long
    window_relay(mpi_group const& ranks, group_nodes const& nodes, relayed_windows const& relayed,
                 chunk_reader& reader, std::uint64_t window_bytes)
        : nodes_(nodes),
          relayed_(relayed),
          reader_(reader),
          window_bytes_((window_bytes + 63) / 64 * 64), // elements are aligned in their slots
          windows_each_(std::clamp<std::size_t>(most_slot_bytes / window_bytes_, 1, most_windows)),
          messages_{posted_messages(ranks), posted_messages(ranks)} {}

    std::uint64_t slot_bytes() const { return windows_each_ * window_bytes_; }

    std::size_t rounds() const {
        std::size_t const each = (relayed_.windows().size() + parts() - 1) / parts();
        return (each + windows_each_ - 1) / windows_each_;
    }

    /// The window at an entry of a rank's slot.
    std::optional<std::size_t> window_at(std::size_t rank, std::size_t round,
                                         std::size_t entry) const {
        std::size_t const window = begin_of(rank) + round * windows_each_ + entry;
        bool const is_one = rank < parts() && entry < windows_each_ && window < begin_of(rank + 1);
        return is_one && place_of(window) ? std::optional(window) : std::nullopt;
    }

    byte_run bytes_of(std::size_t window) const {
        window_run const& whole = relayed_.windows()[window];
        return reader_.whole_chunks(whole.place, whole.bytes);
    }

    std::size_t windows_each() const { return windows_each_; }
    std::uint64_t window_bytes() const { return window_bytes_; }

    /// Fills this rank's slot.
    ///
    /// \return which of its windows have arrived, or were read, as bits
    /// \throws error with errc::deadline
    std::uint32_t fill(std::byte* slot, std::size_t round, local_error& problem) {
        finish(round);
        for_each_own(round, [&](std::size_t entry, std::size_t window, std::uint32_t place) {
            if (place > 0)
                receive(slot, round, entry, window, place);
        });
        std::uint32_t filled = 0;
        auto const hand_on = [&](std::size_t entry, std::size_t window, bool is_there) {
            filled |= std::uint32_t{is_there} << entry;
            send(slot, round, entry, window, is_there);
        };
        for_each_own(round, [&](std::size_t entry, std::size_t window, std::uint32_t place) {
            if (place == 0)
                hand_on(entry, window, read(slot, entry, window, problem));
        });
        messages(round).take_all([&](int tag, std::size_t bytes) {
            auto const entry = static_cast<std::size_t>(tag);
            hand_on(entry, *window_at(me(), round, entry), bytes > 0);
        });
        return filled;
    }

    /// Lets MPI send from the slot of a round while this rank does something else.
    void go_on(std::size_t round) { messages(round).are_sent(); }

    /// Returns when nothing is sent any more from the slot of a round.
    ///
    /// \throws error with errc::deadline
    void finish(std::size_t round) { messages(round).finish(); }

private:
    /// Into how many parts the windows are divided: one for each rank that every node has.
    std::size_t parts() const { return nodes_.least_ranks(); }
    std::size_t begin_of(std::size_t rank) const {
        return relayed_.windows().size() * rank / parts();
    }
    std::size_t me() const { return static_cast<std::size_t>(nodes_.own.group.rank()); }

    /// Where this node stands among those that a window comes to; none where it needs none of it.
    std::optional<std::uint32_t> place_of(std::size_t window) const {
        auto const& takers = relayed_.nodes(window);
        auto const at = std::ranges::lower_bound(takers, nodes_.number);
        if (at == takers.end() || *at != nodes_.number)
            return std::nullopt;
        auto const index = static_cast<std::size_t>(at - takers.begin());
        return static_cast<std::uint32_t>((index + takers.size() - window % takers.size()) %
                                          takers.size());
    }

    /// The rank that has this rank's part on the node at a place.
    int rank_at(std::size_t window, std::uint32_t place) const {
        auto const& takers = relayed_.nodes(window);
        return nodes_.ranks[takers[(place + window) % takers.size()]][me()];
    }

    std::uint32_t count_of(std::size_t window) const {
        return static_cast<std::uint32_t>(relayed_.nodes(window).size());
    }
    std::uint32_t branches_of(std::size_t window) const {
        return branches_for(relayed_.nodes(window).size(), windows_each_);
    }

    void for_each_own(std::size_t round, auto&& visit) const {
        for (std::size_t entry = 0; entry < windows_each_; ++entry)
            if (auto const window = window_at(me(), round, entry))
                visit(entry, *window, *place_of(*window));
    }

    bool read(std::byte* slot, std::size_t entry, std::size_t window, local_error& problem) {
        if (!problem)
            problem = attempt([&] {
                reader_.read_to(slot + entry * window_bytes_, relayed_.windows()[window].place,
                                bytes_of(window));
            });
        return !problem;
    }

    void receive(std::byte* slot, std::size_t round, std::size_t entry, std::size_t window,
                 std::uint32_t place) {
        relay_step const from = step_of(place, count_of(window), branches_of(window));
        messages(round).receive(slot + entry * window_bytes_, bytes_of(window).size(),
                                rank_at(window, from.parent), static_cast<int>(entry));
    }

    /// To the nodes behind this one; no bytes where a rank before could not read them.
    void send(std::byte* slot, std::size_t round, std::size_t entry, std::size_t window,
              bool is_there) {
        std::size_t const bytes = is_there ? bytes_of(window).size() : 0;
        for_each_child(*place_of(window), count_of(window), branches_of(window),
                       [&](std::uint32_t child) {
                           messages(round).send(slot + entry * window_bytes_, bytes,
                                                rank_at(window, child), static_cast<int>(entry));
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

/// What messages are still read from and written to where a wait is given up.
struct relay_memory {
    std::unique_ptr<window_slots> slots;
    std::unique_ptr<window_relay> relay;
};

/// Copies what this rank needs of the windows that are in the slots of its node.
inline void copy_round(window_slots const& slots, window_relay& relay, group_nodes const& nodes,
                       relayed_windows const& relayed, window_reads& reads, std::size_t round) {
    auto const ranks = static_cast<std::size_t>(nodes.own.group.size());
    auto const me = static_cast<std::size_t>(nodes.own.group.rank());
    for (std::size_t step = 0; step < ranks; ++step) {
        std::size_t const rank = (me + step) % ranks;
        for (std::size_t entry = 0; entry < relay.windows_each(); ++entry) {
            auto const at = relay.window_at(rank, round, entry);
            if (!at || !slots.is_filled(rank, round, entry))
                continue;
            window_run const& window = relayed.windows()[*at];
            reads.run(window, window.bytes,
                      slots.slot(rank, round) + entry * relay.window_bytes() +
                          (window.bytes.begin - relay.bytes_of(*at).begin));
            relay.go_on(round);
        }
    }
}

RESHARD_DECL local_error read_relayed(mpi_group const& world, chunk_reader& reader,
                                      window_reads& reads, std::vector<window_run>& mine) {
    group_nodes const nodes = nodes_of(world);
    if (nodes.ranks.size() == 1)
        return std::nullopt;
    relayed_windows const relayed = find_relayed(world, nodes, reader, reads, mine);
    if (relayed.windows().empty())
        return std::nullopt;
    mpi_group const ranks = mpi_group::duplicate_of(world);
    request_memory<relay_memory> memory;
    memory->relay = std::make_unique<window_relay>(ranks, nodes, relayed, reader,
                                                   most_bytes(reader, relayed.windows()));
    memory->slots = slots_of_node(nodes.own.group, memory->relay->slot_bytes());
    auto const has_slots = gather_values(world, memory->slots != nullptr);
    local_error problem;
    if (std::ranges::find(has_slots, false) == has_slots.end()) {
        window_slots const& slots = *memory->slots;
        window_relay& relay = *memory->relay;
        for (std::size_t round = 0; round < relay.rounds(); ++round) {
            slots.set_filled(round, relay.fill(slots.own_slot(round), round, problem));
            slots.meet();
            copy_round(slots, relay, nodes, relayed, reads, round);
        }
        relay.finish(0);
        relay.finish(1);
        mine = windows_without(reads, mine, relayed.windows());
    }
    memory.set_finished();
    return problem;
}

} // namespace reshard::detail

#endif
