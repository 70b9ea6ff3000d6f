// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_NODE_RINGS_IPP
#define RESHARD_MPI_IMPL_NODE_RINGS_IPP

#include <reshard/mpi/node_rings.hpp>

#include <reshard/copy/stream_lines.hpp>
#include <reshard/os/process.hpp>

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>
#include <span>
#include <utility>

namespace reshard::detail {

RESHARD_DECL ring_ways measured_ways::best() const {
    constexpr double least_gain = 0.1; // a smaller difference may be chance
    ring_ways ways{streamed < (1 - least_gain) * in_cache};
    double const by_slots = std::min(in_cache, streamed);
    double const gain = by_slots - read_whole;
    double const a_run = (read_rows - read_whole) * row_bytes / bytes;
    if (read_whole > 0 && gain > least_gain * by_slots)
        ways.least_read =
            std::max<index_t>(4096, static_cast<index_t>(a_run / gain * double{bytes}));
    return ways;
}

/// The slower time of two ranks, for each way. A rank without a partner does not count.
inline measured_ways slowest(measured_ways a, measured_ways const& b) {
    if (b.in_cache == 0)
        return a;
    if (a.in_cache == 0)
        return b;
    bool const can_read = a.read_whole > 0 && b.read_whole > 0;
    return {std::max(a.in_cache, b.in_cache), std::max(a.streamed, b.streamed),
            can_read ? std::max(a.read_whole, b.read_whole) : 0,
            std::max(a.read_rows, b.read_rows)};
}

/// A measurement of this process with the ranks of a node.
struct kept_measurement_of_ranks {
    MPI_Group ranks; ///< kept until exit
    measured_ways measured;
    double at = 0; ///< the time of the measurement, by MPI_Wtime
};

struct kept_measurements {
    std::mutex mutex;
    vector<kept_measurement_of_ranks> all;

    /// The measurement with these ranks, or null.
    kept_measurement_of_ranks* find(MPI_Group ranks) {
        for (kept_measurement_of_ranks& kept : all) {
            int result = MPI_UNEQUAL;
            MPI_Group_compare(kept.ranks, ranks, &result);
            if (result == MPI_IDENT)
                return &kept;
        }
        return nullptr;
    }
};

inline kept_measurements& all_kept_measurements() {
    static kept_measurements kept;
    return kept;
}

/// Ignores a lack of memory, because one rank alone must not fail here. The ranks then measure
/// again.
inline void keep_measurement(mpi_group const& node, measured_ways const& measured) {
    std::scoped_lock const lock(all_kept_measurements().mutex);
    kept_measurement_of_ranks own{MPI_GROUP_NULL, measured, MPI_Wtime()};
    MPI_Comm_group(node.base(), &own.ranks);
    kept_measurement_of_ranks* const kept = all_kept_measurements().find(own.ranks);
    if (kept)
        std::swap(*kept, own);
    if (kept || attempt([&] { all_kept_measurements().all.push_back(own); }))
        MPI_Group_free(&own.ranks);
}

RESHARD_DECL std::optional<forced_rings>& rings_by_force() {
    static std::optional<forced_rings> forced;
    return forced;
}

RESHARD_DECL std::optional<measured_ways> kept_measurement(mpi_group const& node) {
    std::scoped_lock const lock(all_kept_measurements().mutex);
    MPI_Group ranks;
    MPI_Comm_group(node.base(), &ranks);
    auto const* const kept = all_kept_measurements().find(ranks);
    MPI_Group_free(&ranks);
    bool const is_new = kept && MPI_Wtime() - kept->at < kept_seconds;
    return is_new ? std::optional(kept->measured) : std::nullopt;
}

RESHARD_DECL node_rings::node_rings(node_ranks const& node, segment_request const& wanted)
    : node_(node),
      token_(new_token()),
      calls_(wanted.calls),
      segments_(node.group, bytes_for(static_cast<int>(node.numbers.size())), wanted) {
    int const me = node_.group.rank();
    auto const kept = kept_measurement(node_.group);
    ring_notice const notice{this_process().number,
                             token_,
                             reinterpret_cast<std::uintptr_t>(&token_),
                             0,
                             kept.has_value(),
                             kept.value_or(measured_ways{})};
    new (segments_.data(me)) ring_notice(notice);
    for (int peer = 0; peer < size(); ++peer)
        new (state_at(me, peer)) ring_state;
    agree(node_.group, std::nullopt); // others use the rings only after this
}

RESHARD_DECL void node_rings::choose_ways(bool may_measure) {
    bool is_kept = true;
    for (int rank = 0; rank < size(); ++rank)
        is_kept &= notice_of(rank).is_kept;
    if (auto const& forced = rings_by_force()) {
        ways_ = forced->ways;
        calls_ = forced->calls;
    } else if (is_kept || may_measure) {
        if (!is_kept) {
            measure();
            keep_measurement(node_.group, notice_of(node_.group.rank()).measured);
        }
        ways_ = measured().best();
    }
    // A rank whose deadline passes leaves, and may change its memory while others still read it.
    if (node_.group.limit().is_finite())
        ways_.least_read = ring_ways::nothing_is_read;
    if (ways_.least_read != ring_ways::nothing_is_read)
        allow_lists();
}

RESHARD_DECL measured_ways node_rings::measured() const {
    measured_ways all;
    for (int rank = 0; rank < size(); ++rank)
        all = slowest(all, notice_of(rank).measured);
    return all;
}

RESHARD_DECL bool node_rings::can_read(int rank) const {
    ring_notice const& other = notice_of(rank);
    std::uint64_t token = 0;
    memory_run const run{other.address, 0, sizeof token};
    return calls_.read_process(other.process, {&run, 1}, reinterpret_cast<std::byte*>(&token)) &&
           token == other.token;
}

RESHARD_DECL void node_rings::allow_lists() const {
    for (int peer = 0; peer < size(); ++peer)
        if (peer != node_.group.rank())
            receiver_from(peer).allow_lists(can_read(peer));
}

/// Measures how two ranks of a node swap bytes, in rings that no exchange uses.
class ring_probe {
public:
    /// \param from the partner's ring; std::nullopt if the rank has no partner
    ring_probe(mpi_group const& node, barrier_state& meeting, ring_sender to,
               std::optional<ring_receiver> from)
        : node_(node),
          meeting_(meeting, static_cast<std::uint32_t>(node.size())),
          to_(to),
          from_(from) {
        std::memset(pattern_.data(), 1, pattern_bytes);
        runs_.reserve(bytes / measured_ways::row_bytes + 1);
    }

    std::byte const* source() const { return source_.data(); }

    /// The shortest time of a few calls of `move` with empty caches; 0 without a partner.
    template <class Move>
    double seconds(Move const& move) {
        double least = 0;
        for (int i = 0; i < 3; ++i) {
            for (private_memory const* const memory : {&source_, &target_})
                for (std::size_t at = 0; at < bytes; at += pattern_bytes)
                    copy_bytes_streaming(memory->data() + at, pattern_.data(), pattern_bytes);
            meet();
            double const began = MPI_Wtime();
            if (from_)
                move();
            double const passed = MPI_Wtime() - began;
            least = i == 0 ? passed : std::min(least, passed);
        }
        meet();
        return from_ ? least : 0;
    }

    void swap(bool streams) {
        bounded_wait wait(node_.limit());
        std::size_t const slot_bytes = to_.slot_bytes();
        std::size_t sent = 0, received = 0;
        while (sent < bytes || received < bytes) {
            std::byte const* const full = received < bytes ? from_->slot() : nullptr;
            std::byte* const empty = sent < bytes ? to_.slot() : nullptr;
            if (full) {
                std::size_t const count = std::min(slot_bytes, bytes - received);
                copy_bytes_streaming(target_.data() + received, full, count);
                from_->pass();
                received += count;
            }
            if (empty) {
                std::size_t const count = std::min(slot_bytes, bytes - sent);
                if (streams)
                    copy_bytes_streaming(empty, source_.data() + sent, count);
                else
                    std::memcpy(empty, source_.data() + sent, count);
                to_.pass();
                sent += count;
            }
            if (full || empty)
                wait.restart();
            else
                idle(wait);
        }
    }

    /// Reads at most a slot's bytes in one call, as an exchange does.
    void read(system_calls const& calls, ring_notice const& partner, std::size_t run_bytes) {
        std::size_t const at_once = std::min(to_.slot_bytes(), bytes);
        std::size_t const step = std::min(run_bytes, at_once);
        for (std::size_t begin = 0; begin < bytes; begin += at_once) {
            std::size_t const end = std::min(begin + at_once, bytes);
            runs_.clear();
            for (std::size_t i = begin; i < end; i += step)
                runs_.push_back({partner.source + i, i, std::min(step, end - i)});
            calls.read_process(partner.process, runs_, target_.data());
        }
    }

    void meet() const {
        bounded_wait wait(node_.limit());
        meeting_.wait([&] { idle(wait); });
    }

private:
    static constexpr std::size_t bytes = measured_ways::bytes;
    static constexpr std::size_t pattern_bytes = std::size_t{64} << 10;
    static_assert(bytes % pattern_bytes == 0);

    /// Lets MPI make progress: other ranks may still wait for messages of this rank.
    void idle(bounded_wait& wait) const {
        int there = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, node_.tag(), node_.base(), &there, MPI_STATUS_IGNORE);
        ::sched_yield();
        wait.look();
    }

    mpi_group const& node_;
    shared_barrier meeting_;
    ring_sender to_;
    std::optional<ring_receiver> from_;
    private_memory pattern_{pattern_bytes}, source_{bytes}, target_{bytes};
    vector<memory_run> runs_;
};

RESHARD_DECL void node_rings::measure() const {
    int const me = node_.group.rank(), partner = me ^ 1;
    bool const has_partner = partner < size();
    std::optional<ring_probe> own_probe;
    agree_on(node_.group, [&] { // before any rank waits in the shared memory
        own_probe.emplace(node_.group, segments_.barrier(), sender_to(me),
                          has_partner ? std::optional(receiver_of(partner, partner))
                                      : std::nullopt);
    });
    ring_probe& probe = *own_probe;
    ring_notice& own = notice_of(me);
    own.source = reinterpret_cast<std::uintptr_t>(probe.source());
    own.measured.in_cache = probe.seconds([&] { probe.swap(false); });
    own.measured.streamed = probe.seconds([&] { probe.swap(true); });
    bool const reads = has_partner && can_read(partner);
    auto const read = [&](std::size_t run_bytes) {
        return probe.seconds([&] {
            if (reads)
                probe.read(calls_, notice_of(partner), run_bytes);
        });
    };
    double const whole = read(measured_ways::bytes), rows = read(measured_ways::row_bytes);
    own.measured.read_whole = reads ? whole : 0;
    own.measured.read_rows = reads ? rows : 0;
    probe.meet();
}

/// The least bytes on a node for which a measurement is worth its time.
inline constexpr index_t least_measured = index_t{16} << 20;

RESHARD_DECL std::shared_ptr<node_rings> make_rings(node_ranks const& node,
                                                    system_calls const& calls) {
    std::string refusal; // unused: messages replace the rings
    return with_segments(node.group, refusal, [&](segment_kind kind) {
        return std::make_shared<node_rings>(node, segment_request{kind, {}, calls});
    });
}

RESHARD_DECL node_ranks node_of(ranks_on_nodes const& group) {
    int const me = group.ranks.rank();
    int const node = group.nodes[static_cast<std::size_t>(me)];
    vector<int> numbers;
    for (int rank = 0; rank < group.ranks.size(); ++rank)
        if (group.nodes[static_cast<std::size_t>(rank)] == node)
            numbers.push_back(rank);
    return {group.ranks.subgroup(group.ranks.base().split(node, me)), std::move(numbers)};
}

RESHARD_DECL bool rings_are_worth_it(int ranks, index_t most_bytes, node_exchange chosen) {
    if (chosen == node_exchange::messages || ranks == 1)
        return false;
    return chosen == node_exchange::rings || most_bytes >= least_in_rings / ranks;
}

RESHARD_DECL std::shared_ptr<node_rings const> rings_for(ranks_on_nodes const& group,
                                                         vector<index_t> const& bytes, index_t most,
                                                         node_exchange chosen) {
    if (!rings_are_worth_it(group.ranks.size(), most, chosen))
        return nullptr;
    node_ranks const node = node_of(group);
    index_t on_node = 0;
    for (int const rank : node.numbers)
        on_node += bytes[static_cast<std::size_t>(rank)];
    vector<index_t> const of_ranks = gather_values(node.group, on_node);
    index_t const most_on_node = *std::max_element(of_ranks.begin(), of_ranks.end());
    if ((chosen == node_exchange::chosen && most_on_node < least_in_rings) ||
        node.numbers.size() > node_rings::most_ranks)
        return nullptr;
    auto const rings = make_rings(node);
    if (rings)
        rings->choose_ways(most_on_node >= least_measured);
    return rings;
}

} // namespace reshard::detail

#endif
