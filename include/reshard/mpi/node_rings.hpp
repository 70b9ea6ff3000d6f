// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_NODE_RINGS_HPP
#define RESHARD_MPI_NODE_RINGS_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/mpi/bound_chunks.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/node_segments.hpp>
#include <reshard/os/slot_ring.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

/// \file
/// Rings between all ranks of a node.

namespace reshard::detail {

/// How the processes of a node pass bytes to each other.
struct ring_ways {
    /// The value of `least_read` if no process reads another's memory.
    static constexpr index_t nothing_is_read = std::numeric_limits<index_t>::max();

    /// True if slots are written with non-temporal stores, which are faster between cores without a
    /// common cache.
    bool streams = false;
    /// The receiver reads a chunk from the sender's memory if the chunk's runs there have at least
    /// this number of bytes on average.
    index_t least_read = nothing_is_read;

    bool operator==(ring_ways const&) const = default;
};

/// The seconds that two ranks of a node need to swap `bytes` bytes, for each way.
struct measured_ways {
    double in_cache = 0;
    double streamed = 0;
    double read_whole = 0; ///< to read the partner's memory in long runs; 0: not permitted
    double read_rows = 0;  ///< likewise, in runs of `row_bytes`

    static constexpr std::size_t bytes = std::size_t{1} << 20;
    static constexpr std::size_t row_bytes = std::size_t{16} << 10;

    ring_ways best() const;
};

/// The facts that a rank of the node publishes before others use its rings.
struct ring_notice {
    std::uint64_t process = 0; ///< the number of its process
    std::uint64_t token = 0;   ///< the value at `address` in its memory
    std::uint64_t address = 0;
    std::uint64_t source = 0; ///< the address that its partner reads in a measurement
    bool is_kept = false;     ///< its process keeps a measurement with these ranks
    measured_ways measured;
};

/// A ring for each pair of ranks of a node and each direction, in memory of the rank that fills it.
class node_rings {
public:
    /// The memory that a rank allocates for its rings, unless slots would be too small.
    static constexpr index_t budget_bytes = index_t{2} << 20;

    /// With more ranks, slots would be too small to be useful.
    static constexpr std::size_t most_ranks = 65;

    /// Enough to fill one slot while another is emptied, and to continue while the peer waits for a
    /// core.
    static constexpr int slots_each = static_cast<int>(ring_state::most_slots);

    /// \par Collective every rank of the node, in the same order
    /// \throws error with errc::io, on every rank of the node, if the system refuses shared memory
    ///         to any rank
    node_rings(node_ranks const& node, segment_request const& wanted);
    node_rings(node_rings const&) = delete; // other processes read its token

    /// The most bytes of a chunk on a node of `ranks` ranks.
    static std::size_t slot_bytes_for(int ranks) {
        index_t const share = budget_bytes / (std::max(1, ranks - 1) * slots_each);
        return static_cast<std::size_t>(
            std::clamp<index_t>(share / 4096 * 4096, 16 << 10, 256 << 10));
    }

    /// The same for this node.
    std::size_t slot_bytes() const { return slot_bytes_for(size()); }

    node_ranks const& node() const { return node_; }

    system_calls const& calls() const { return calls_; }

    /// The ways that all ranks of the node use.
    ring_ways const& ways() const { return ways_; }

    /// The slowest measurements of any rank of the node: equal on every rank.
    measured_ways measured() const;

    /// Chooses the ways: forced ways first, then the best ones by a kept measurement. Otherwise, if
    /// `may_measure`, the ranks measure for some milliseconds. Each process keeps the result for
    /// `kept_seconds`, for rings of the same ranks.
    ///
    /// \par Collective every rank of the node, in the same order. Ranks that measure first agree
    ///      that each has the memory for it; then they meet in shared memory.
    /// \throws error with errc::deadline, or the error of a rank without memory
    void choose_ways(bool may_measure);

    /// \pre called once for each other rank of the node, by its number there; also for
    ///      `receiver_from`
    ring_sender sender_to(int peer) const {
        return {state_of(node_.group.rank(), peer), slots_of(node_.group.rank(), peer)};
    }
    ring_receiver receiver_from(int peer) const { return receiver_of(peer, node_.group.rank()); }

    ring_notice& notice_of(int rank) const {
        return *std::launder(reinterpret_cast<ring_notice*>(segments_.data(rank)));
    }

private:
    /// A segment has the notice, then all states, then all slots. A rank uses the ring to itself
    /// only for measurements.
    static index_t heads_bytes(int ranks) {
        return (first_state + index_t{ranks} * static_cast<index_t>(sizeof(ring_state)) + 4095) /
               4096 * 4096;
    }
    static index_t bytes_for(int ranks) {
        return heads_bytes(ranks) +
               index_t{ranks} * slots_each * static_cast<index_t>(slot_bytes_for(ranks));
    }

    int size() const { return static_cast<int>(node_.numbers.size()); }

    std::byte* state_at(int from, int to) const {
        return segments_.data(from) + first_state +
               static_cast<std::size_t>(to) * sizeof(ring_state);
    }
    ring_state& state_of(int from, int to) const {
        return *std::launder(reinterpret_cast<ring_state*>(state_at(from, to)));
    }
    ring_slots slots_of(int from, int to) const {
        auto const each = static_cast<std::size_t>(slots_each) * slot_bytes();
        return {segments_.data(from) + heads_bytes(size()) + static_cast<std::size_t>(to) * each,
                slot_bytes(), slots_each};
    }

    ring_receiver receiver_of(int from, int to) const {
        return {state_of(from, to), slots_of(from, to)};
    }

    /// True if this process can read the memory of a rank of the node.
    bool can_read(int rank) const;

    /// Permits ranks whose memory this rank can read to send lists of runs.
    void allow_lists() const;

    /// Measures the ways between this rank and its partner, while all other pairs of the node do
    /// the same.
    void measure() const;

    static constexpr index_t first_state = 128;
    static_assert(sizeof(ring_notice) <= first_state);

    node_ranks node_;
    std::uint64_t token_;
    system_calls calls_;
    node_segments segments_;
    ring_ways ways_;
};

/// The least bytes on a node for which rings are worth their memory.
inline constexpr index_t least_in_rings = index_t{1} << 20;

/// For tests: replaces the measured ways of rings, and their system calls.
struct forced_rings {
    ring_ways ways;
    system_calls calls = {};
};

/// The forced ways of this process, for all rings made later; usually std::nullopt.
RESHARD_DECL std::optional<forced_rings>& rings_by_force();

/// How long a measurement is kept. It becomes wrong if a virtual machine moves between cores that
/// share a cache and cores that do not.
inline constexpr double kept_seconds = 10;

/// The measurement of this process with the ranks of a node, if it is younger than `kept_seconds`.
/// Does not communicate.
RESHARD_DECL std::optional<measured_ways> kept_measurement(mpi_group const& node);

/// Rings, or null if the node has one rank or the system refuses shared memory.
///
/// \par Collective every rank of the node, in the same order
RESHARD_DECL std::shared_ptr<node_rings> make_rings(node_ranks const& node,
                                                    system_calls const& calls = {});

/// The ranks of a group and their nodes.
struct ranks_on_nodes {
    mpi_group ranks;
    vector<int> nodes; ///< for each rank, the lowest rank on its node
};

/// The node of this rank.
///
/// \par Collective every rank of the group
RESHARD_DECL node_ranks node_of(ranks_on_nodes const& group);

/// True if rings may be faster than messages, given the most bytes that two of the ranks exchange.
RESHARD_DECL bool rings_are_worth_it(int ranks, index_t most_bytes, node_exchange chosen);

/// The rings through which ranks of a node pass elements in private memory. Null if messages are
/// better: for few bytes, or with too many ranks on a node.
///
/// \param bytes for each rank, the bytes that this rank exchanges with it, in the direction with
/// more bytes
/// \param most  the largest of these numbers on any rank
/// \par Collective every rank of the group, in the same order
RESHARD_DECL std::shared_ptr<node_rings const> rings_for(ranks_on_nodes const& group,
                                                         vector<index_t> const& bytes, index_t most,
                                                         node_exchange chosen);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/node_rings.ipp>
#endif

#endif
