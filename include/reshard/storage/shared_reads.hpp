// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_SHARED_READS_HPP
#define RESHARD_STORAGE_SHARED_READS_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>
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
#include <vector>

/// \file
/// Windows of files that several ranks need: on a node one of them reads and verifies each, and all
/// copy from memory that they share; if several nodes need it, one rank of all reads it, and the
/// nodes pass it on.

namespace reshard::detail {

/// The nodes of a group.
struct group_nodes {
    node_ranks own;
    std::uint32_t number = 0;            ///< of this rank's node
    std::vector<std::vector<int>> ranks; ///< by node, ascending
    std::size_t least_ranks = 0;         ///< how many every node has

    /// The rank that sends the value of some nodes, which all have it.
    int teller(std::vector<std::uint32_t> const& some) const { return ranks[some.front()].front(); }
};

/// \par Collective every rank of the group, in the same order
/// \throws error as `agreed_node_of`
RESHARD_DECL group_nodes nodes_of(mpi_group const& world);

/// A window that comes to this rank's node.
struct relayed_window {
    window_run window;
    std::uint64_t turn = 0; ///< which of all windows that come to a node; on some it may have gaps
    std::uint32_t set = 0;  ///< of nodes
};

/// The windows that come to this rank's node, in the order of files and turns.
///
/// A window has one turn on all nodes that it comes to, the first that is after the turns of all
/// windows before. So nodes that need different windows, as stages of a pipeline, do not wait for
/// each other.
class relayed_windows {
public:
    explicit relayed_windows(group_nodes const& nodes)
        : node_(nodes.number), next_(nodes.ranks.size(), 0) {}

    /// \param nodes those that need the window, ascending
    void add(window_run const& window, std::vector<std::uint32_t> const& nodes) {
        if (sets_.empty() || nodes != sets_[set_])
            change_set(nodes);
        if (std::ranges::binary_search(nodes, node_))
            windows_.push_back({window, turn_, set_});
        ++turn_;
    }

    std::vector<relayed_window> const& windows() const { return windows_; }

    /// The window whose turn it is, or null.
    relayed_window const* find(std::uint64_t turn) const {
        auto const at = std::ranges::lower_bound(windows_, turn, {}, &relayed_window::turn);
        return at != windows_.end() && at->turn == turn ? &*at : nullptr;
    }

    std::vector<std::uint32_t> const& nodes(relayed_window const& window) const {
        return sets_[window.set];
    }

private:
    void change_set(std::vector<std::uint32_t> const& nodes) {
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
    std::vector<relayed_window> windows_;
    std::vector<std::vector<std::uint32_t>> sets_;
    std::map<std::vector<std::uint32_t>, std::uint32_t> numbers_;
    std::vector<std::uint64_t> next_; ///< by node, as of the last change of sets
    std::uint32_t set_ = 0;           ///< of the last window, and the turn after it
    std::uint64_t turn_ = 0;
};

/// The windows that are passed on, and the size of the largest on any node.
struct found_windows {
    relayed_windows relayed;
    std::uint64_t most_bytes = 0;
};

/// The windows to pass on, of all that ranks need. For windows that only one node needs, only
/// digests are sent.
///
/// \param runs the windows that this rank needs, in the order of files
/// \par Collective every rank of the group, in the same order, with the same checkpoint and
///      `file_reads`
RESHARD_DECL found_windows find_relayed(mpi_group const& world, group_nodes const& nodes,
                                        chunk_reader const& reader, window_reads const& reads,
                                        std::vector<window_run> const& runs, file_reads file_reads);

/// Reads the windows that several nodes need, each once, and takes them from `runs`.
///
/// A window goes from node to node in messages, along a chain or a tree; which node reads it takes
/// turns. On a node one rank receives it and passes it on, and all copy from memory that they
/// share. So a rank needs twice `most_slot_bytes` of it at most. Nothing is read, and `runs` stays,
/// if a node is refused that memory.
///
/// Of `file_reads` it matters whether what saves little is passed on, too.
///
/// \param runs the windows that this rank needs, in the order of files
/// \par Collective every rank of the group, in the same order, with the same checkpoint
/// \return what this rank could not read: it goes on, since others wait for it
/// \throws error as `agreed_node_of`; errc::deadline
RESHARD_DECL local_error read_relayed(mpi_group const& world, chunk_reader& reader,
                                      window_reads& reads, std::vector<window_run>& runs,
                                      file_reads file_reads);

/// The reads of a rank before it reads.
struct planned_reads {
    /// \param verify as in `chunk_reader`
    /// \pre   `source` lives as long
    RESHARD_DECL planned_reads(checkpoint const& source, std::vector<stored_loop> wanted,
                               bool verify);

    chunk_reader reader;
    window_reads loops;
    std::vector<window_run> windows; ///< in the order of files
};

/// The message of a rank to the others about its reads.
struct read_notice {
    std::string problem; ///< as `encode` writes it: why it will not read
    std::uint64_t bytes = 0;
    std::uint8_t may_share = 0;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.problem, self.bytes, self.may_share);
    }
};

RESHARD_DECL read_notice notice_of(planned_reads const& reads, file_reads chosen);

/// Reads the bytes that the loops of this rank need.
///
/// \throws error as `chunk_reader::read`; errc::corrupt_file for a file that changed meanwhile
inline void read_windows(solo const&, planned_reads& reads, std::vector<read_notice> const&,
                         options const&) {
    run(reads.reader, reads.loops);
    reads.reader.check_unchanged();
}

/// The same of all ranks, as `options.reads` says; with `relays()`, bytes that several nodes
/// need are read once, see `read_relayed`.
///
/// \par Collective every rank of the group, in the same order, with the same checkpoint and options
/// \throws error as `chunk_reader::read`, on every rank
RESHARD_DECL void read_windows(mpi_group const& world, planned_reads& reads,
                               std::vector<read_notice> const& notices, options const& options);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/relayed_reads.ipp>
#include <reshard/storage/impl/relayed_windows.ipp>
#include <reshard/storage/impl/shared_reads.ipp>
#endif

#endif
