// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_SHARED_READS_HPP
#define RESHARD_STORAGE_SHARED_READS_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/storage/chunk_reader.hpp>
#include <reshard/storage/window_reads.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

/// \file
/// Reads windows of files that several ranks need. On a node, one rank reads and verifies each
/// window, and all ranks copy from shared memory. If several nodes need a window, only one rank
/// reads it, and the nodes pass it on.

namespace reshard::detail {

/// The nodes of a group.
struct group_nodes {
    node_ranks own;
    std::uint32_t number = 0;    ///< number of this rank's node
    vector<vector<int>> ranks;   ///< by node, ascending
    std::size_t least_ranks = 0; ///< the fewest ranks of a node

    /// The rank that sends a value for the nodes `some`, which all have it.
    int teller(vector<std::uint32_t> const& some) const { return ranks[some.front()].front(); }
};

/// \par Collective every rank of the group, in the same order
/// \throws error as `agreed_node_of`
RESHARD_DECL group_nodes nodes_of(mpi_group const& world);

/// A window that arrives at this rank's node.
struct relayed_window {
    window_run window;
    std::uint64_t turn = 0; ///< its position on this node; turns may have gaps
    std::uint32_t set = 0;  ///< the number of the set of nodes that need it
};

/// The windows that arrive at this rank's node, in the order of files and turns.
///
/// A window has the same turn on all nodes that need it: the first turn after all earlier windows
/// of these nodes. So nodes that need different windows, such as stages of a pipeline, do not wait
/// for each other.
class relayed_windows {
public:
    explicit relayed_windows(group_nodes const& nodes)
        : node_(nodes.number), next_(nodes.ranks.size(), 0) {}

    /// \param nodes the nodes that need the window, ascending
    void add(window_run const& window, vector<std::uint32_t> const& nodes) {
        if (sets_.empty() || nodes != sets_[set_])
            change_set(nodes);
        if (std::ranges::binary_search(nodes, node_))
            windows_.push_back({window, turn_, set_});
        ++turn_;
    }

    vector<relayed_window> const& windows() const { return windows_; }

    /// The window of a turn, or null.
    relayed_window const* find(std::uint64_t turn) const {
        auto const at = std::ranges::lower_bound(windows_, turn, {}, &relayed_window::turn);
        return at != windows_.end() && at->turn == turn ? &*at : nullptr;
    }

    vector<std::uint32_t> const& nodes(relayed_window const& window) const {
        return sets_[window.set];
    }

private:
    void change_set(vector<std::uint32_t> const& nodes) {
        if (!sets_.empty())
            for (std::uint32_t const node : sets_[set_])
                next_[node] = turn_;
        auto const [number, is_new] =
            numbers_.emplace(nodes, static_cast<std::uint32_t>(sets_.size()));
        if (is_new)
            sets_.push_back(nodes);
        set_ = number->second;
        turn_ = 0;
        for (std::uint32_t const node : nodes)
            turn_ = std::max(turn_, next_[node]);
    }

    std::uint32_t node_;
    vector<relayed_window> windows_;
    vector<vector<std::uint32_t>> sets_;
    std::map<vector<std::uint32_t>, std::uint32_t> numbers_;
    vector<std::uint64_t> next_; ///< the next turn of each node, up to the last change of the set
    std::uint32_t set_ = 0;      ///< the set of the last window; `turn_` is its next turn
    std::uint64_t turn_ = 0;
};

/// The windows that nodes pass on, and the size of the largest window.
struct found_windows {
    relayed_windows relayed;
    std::uint64_t most_bytes = 0;
};

/// Finds the windows to pass on among all windows that ranks need. For windows that only one node
/// needs, ranks send only digests.
///
/// \param runs the windows that this rank needs, in the order of files
/// \par Collective every rank of the group, in the same order, with the same checkpoint and
///      `file_reads`
RESHARD_DECL found_windows find_relayed(mpi_group const& world, group_nodes const& nodes,
                                        chunk_reader const& reader, window_reads const& reads,
                                        vector<window_run> const& runs, file_reads file_reads);

/// Reads each window that several nodes need once, and removes these windows from `runs`.
///
/// Messages carry a window from node to node, along a chain or a tree. The nodes take turns in
/// reading. On each node one rank receives the window and passes it on, and all ranks copy from
/// shared memory. A rank needs at most twice `most_slot_bytes` of shared memory. If a node cannot
/// get that memory, nothing is read, and `runs` is unchanged.
///
/// `file_reads` decides whether windows are passed on even if that saves little.
///
/// \param runs the windows that this rank needs, in the order of files
/// \par Collective every rank of the group, in the same order, with the same checkpoint
/// \return the first error of this rank's reads; the rank continues, since other ranks wait for it
/// \throws error as `agreed_node_of`; errc::deadline
RESHARD_DECL local_error read_relayed(mpi_group const& world, chunk_reader& reader,
                                      window_reads& reads, vector<window_run>& runs,
                                      file_reads file_reads);

/// The planned reads of a rank.
struct planned_reads {
    /// \param verify as in `chunk_reader`
    /// \pre   `source` outlives this object
    RESHARD_DECL planned_reads(checkpoint const& source, vector<stored_loop> wanted, bool verify);

    chunk_reader reader;
    window_reads loops;
    vector<window_run> windows; ///< in the order of files
    local_error problem = {};   ///< of this rank, before it reads
};

/// The message of a rank to the other ranks about its reads.
struct read_notice {
    std::string problem; ///< why the rank will not read, in the form of `encode`
    std::uint64_t bytes = 0;
    std::uint8_t may_share = 0;
    std::uint64_t program_digest = 0; ///< 0 by name

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.problem, self.bytes, self.may_share, self.program_digest);
    }
};

RESHARD_DECL read_notice notice_of(planned_reads const& reads, file_reads chosen);

/// Reads the bytes that the loops of this rank need.
///
/// \throws error as `chunk_reader::read`; errc::corrupt_file for a file that has changed meanwhile
inline void read_windows(solo const&, planned_reads& reads, vector<read_notice> const&,
                         options const&) {
    if (reads.problem)
        throw error(*reads.problem);
    run(reads.reader, reads.loops);
    reads.reader.check_unchanged();
}

/// Reads the bytes that the loops of all ranks need, as `options.reads` says. With `relays()`,
/// bytes that several nodes need are read once (see `read_relayed`).
///
/// \par Collective every rank of the group, in the same order, with the same checkpoint and options
/// \throws error as `chunk_reader::read`, on every rank
RESHARD_DECL void read_windows(mpi_group const& world, planned_reads& reads,
                               vector<read_notice> const& notices, options const& options);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/relayed_reads.ipp>
#include <reshard/storage/impl/relayed_windows.ipp>
#include <reshard/storage/impl/shared_reads.ipp>
#endif

#endif
