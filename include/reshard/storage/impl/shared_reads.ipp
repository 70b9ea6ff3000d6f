// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_SHARED_READS_IPP
#define RESHARD_STORAGE_IMPL_SHARED_READS_IPP

#include <reshard/core/vector.hpp>
#include <reshard/storage/shared_reads.hpp>

#include <reshard/group/gather_values.hpp>
#include <reshard/mpi/sparse_exchange.hpp>
#include <reshard/storage/merged_directories.hpp>
#include <reshard/storage/window_slots.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace reshard::detail {

/// Ranks share reads only if a rank reads at least this number of bytes.
inline constexpr std::uint64_t least_shared_bytes = std::uint64_t{4} << 20;

/// The windows that several ranks of a node need. A window has all bytes that any of these ranks
/// needs.
///
/// \param runs the windows of each rank
inline vector<window_run> shared_windows(chunk_reader const& reader, window_reads const& reads,
                                         vector<vector<window_run>> const& runs,
                                         file_reads file_reads) {
    vector<window_run> shared;
    for_each_listed(reads, runs, [&](window_run const& run, auto const& entries) {
        std::uint64_t alone = 0; // bytes read if ranks do not share
        for (listed_window const& window : entries)
            alone += reader.whole_chunks(window.window.position, window.window.bytes).size();
        std::uint64_t const once = reader.whole_chunks(run.position, run.bytes).size();
        if (is_worth_reading_once(alone, once, file_reads) && once <= most_slot_bytes)
            shared.push_back(run);
    });
    return shared;
}

/// The bytes of the largest window, with whole chunks.
inline std::uint64_t most_bytes(chunk_reader const& reader, std::span<window_run const> windows) {
    std::uint64_t most = 0;
    for (window_run const& window : windows)
        most = std::max(most, reader.whole_chunks(window.position, window.bytes).size());
    return most;
}

/// Reads the shared windows, in rounds. Each rank reads its share of the windows, and copies from
/// all windows.
///
/// \par Collective every rank of the node, in the same order, with equal windows
/// \return the error of this rank's reads; the rank continues, since other ranks wait for it
/// \throws error with errc::deadline
inline local_error read_shared(mpi_group const& node, window_slots const& slots,
                               chunk_reader& reader, window_reads& reads,
                               std::span<window_run const> windows) {
    auto const chunks_of = [&](window_run const& window) {
        return reader.whole_chunks(window.position, window.bytes);
    };
    slot_rounds const rounds(node, windows.size());
    std::size_t const me = rounds.me();
    local_error problem;
    for (std::size_t round = 0; round < rounds.size(); ++round) {
        if (auto const own = rounds.item_of(me, round); own && !problem)
            problem = attempt([&] {
                reader.read_to(slots.slot(me, round), windows[*own].position,
                               chunks_of(windows[*own]));
            });
        slots.set_filled(round, !problem);
        slots.meet();
        for (std::size_t const rank : ranks_from_own(node)) {
            auto const item = rounds.item_of(rank, round);
            if (!item || !slots.is_filled(rank, round))
                continue;
            window_run const& window = windows[*item];
            keep_first(problem, attempt([&] {
                           reads.run(window, window.bytes,
                                     slots.slot(rank, round) +
                                         (window.bytes.begin - chunks_of(window).begin));
                       }));
        }
    }
    return problem;
}

/// The ranks of a node, the windows that they share, and slots for these windows.
struct node_windows {
    node_ranks node;
    vector<window_run> windows;
    std::unique_ptr<window_slots> slots; ///< null if there are no windows or no memory
};

/// The most ranks of a node that copy directly from the system's pages. With more ranks, mapping
/// all pages takes each rank longer than copying its elements twice.
inline constexpr int most_seeing_ranks = 8;

/// True if all ranks of a node can read the windows in the system's pages of the files. Then each
/// rank copies its elements directly from these pages.
///
/// \par Collective every rank of the node, in the same order
inline bool are_seen(mpi_group const& node, chunk_reader& reader,
                     std::span<window_run const> windows) {
    bool sees = false; // also after an error, which the later reads report
    static_cast<void>(attempt([&] {
        sees = node.size() <= most_seeing_ranks &&
               std::ranges::all_of(windows, [&](window_run const& window) {
                   return reader.sees(window.position, window.bytes);
               });
    }));
    auto const seen = gather_values(node, index_t{sees ? 1 : 0});
    bool const all = std::ranges::count(seen, 1) == std::ssize(seen);
    if (!all)
        reader.close_pages();
    return all;
}

/// \param runs the windows that this rank needs
/// \par Collective every rank of the group, in the same order
inline node_windows share_windows(mpi_group const& world, chunk_reader& reader,
                                  window_reads const& reads, vector<window_run> const& runs,
                                  file_reads file_reads) {
    node_windows windows{agreed_node_of(world), {}, nullptr};
    mpi_group const& node = windows.node.group;
    windows.windows = shared_windows(reader, reads, gather_values(node, runs), file_reads);
    if (!windows.windows.empty() &&
        (file_reads == reshard::file_reads::once || !are_seen(node, reader, windows.windows)))
        windows.slots = make_slots(node, most_bytes(reader, windows.windows));
    if (!windows.slots) // then each rank reads for itself
        windows.windows.clear();
    return windows;
}

/// True if the ranks read enough bytes to share windows.
inline bool is_worth_sharing(vector<read_notice> const& notices, file_reads reads) {
    return std::ranges::all_of(notices, &read_notice::may_share) &&
           (reads == file_reads::once ||
            std::ranges::any_of(notices, [](read_notice const& notice) {
                return notice.bytes >= least_shared_bytes;
            }));
}

/// A window that one rank reads, and the rank that needs it.
struct sent_window {
    std::size_t to = 0;
    window_run window;
};

/// The windows that each rank sends to other ranks, in the order of files; the same on every rank.
inline vector<vector<sent_window>> windows_to_send(chunk_reader const& reader,
                                                   window_reads const& reads,
                                                   merged_directories const& files,
                                                   vector<vector<window_run>> const& wanted) {
    checkpoint_metadata const& from = reader.metadata();
    vector<vector<sent_window>> windows(wanted.size());
    for (std::size_t to = 0; to < wanted.size(); ++to)
        for (window_run const& window : wanted[to]) {
            shard_place const shard_place = window.position;
            holder_t const file = from.tensors[shard_place.tensor].shards[shard_place.shard].file;
            vector<int> const& ranks = files.ranks_of(from.files[file].path);
            auto const turn = static_cast<std::size_t>(window.number) + shard_place.tensor;
            windows[static_cast<std::size_t>(ranks[turn % ranks.size()])].push_back({to, window});
        }
    for (auto& of_rank : windows)
        std::stable_sort(of_rank.begin(), of_rank.end(),
                         [&](sent_window const& a, sent_window const& b) {
                             return reads.is_before(a.window, b.window);
                         });
    return windows;
}

/// The end of the windows that are sent in the round that begins with window `first`.
inline std::size_t round_end(vector<sent_window> const& windows, std::size_t first) {
    std::uint64_t const most = std::uint64_t{16} << 20;
    std::uint64_t bytes = 0;
    std::size_t last = first;
    while (last < windows.size() &&
           (last == first || bytes + windows[last].window.bytes.size() <= most))
        bytes += windows[last++].window.bytes.size();
    return last;
}

/// Reads the windows of a round. The text for each receiving rank has its runs, one after the
/// other.
///
/// \return the error if a run cannot be read; then the texts end before that run
inline local_error texts_of_round(chunk_reader& reader, std::span<sent_window const> windows,
                                  std::map<std::size_t, std::string>& texts) {
    return attempt([&] {
        for (sent_window const& window : windows) {
            std::byte const* const bytes = reader.read(window.window.position, window.window.bytes);
            texts[window.to].append(reinterpret_cast<char const*>(bytes),
                                    window.window.bytes.size());
        }
    });
}

/// Gets the windows of files that this rank does not see from other ranks, in rounds.
///
/// \par Collective every rank of the group, in the same order, if ranks see different files
/// \return the error of this rank's reads; the rank continues, since other ranks wait for it
inline local_error read_from_others(mpi_group const& world, merged_directories const& files,
                                    chunk_reader& reader, window_reads& reads,
                                    vector<window_run> const& wanted) {
    mpi_group const ranks = mpi_group::duplicate_of(world);
    auto const windows = windows_to_send(reader, reads, files, gather_values(world, wanted));
    auto const me = static_cast<std::size_t>(world.rank());
    sparse_exchange exchange(ranks);
    local_error problem;
    vector<std::size_t> first(windows.size(), 0), last(windows.size(), 0);
    auto const is_done = [&] {
        for (std::size_t rank = 0; rank < windows.size(); ++rank)
            if (first[rank] < windows[rank].size())
                return false;
        return true;
    };
    for (; !is_done(); first = last) {
        for (std::size_t rank = 0; rank < windows.size(); ++rank)
            last[rank] = round_end(windows[rank], first[rank]);
        std::map<std::size_t, std::string> texts;
        if (!problem)
            problem = texts_of_round(
                reader, std::span(windows[me]).subspan(first[me], last[me] - first[me]), texts);
        vector<addressed_text> outgoing;
        for (auto& [to, bytes] : texts)
            outgoing.push_back({static_cast<int>(to), std::move(bytes)});
        for (addressed_text const& text : exchange.run(std::move(outgoing))) {
            auto const from = static_cast<std::size_t>(text.rank);
            std::size_t at = 0;
            for (std::size_t i = first[from]; i < last[from]; ++i) {
                sent_window const& window = windows[from][i];
                if (window.to != me || at + window.window.bytes.size() > text.bytes.size())
                    continue;
                keep_first(problem, attempt([&] {
                               reads.run(window.window, window.window.bytes,
                                         reinterpret_cast<std::byte const*>(text.bytes.data()) +
                                             at);
                           }));
                at += window.window.bytes.size();
            }
        }
    }
    return problem;
}

/// Reads the bytes that the loops need, if ranks see different files.
///
/// \par Collective every rank of the group, in the same order
inline local_error read_united(mpi_group const& world, merged_directories const& files,
                               chunk_reader& reader, window_reads& reads,
                               vector<window_run> const& runs) {
    checkpoint_metadata const& from = reader.metadata();
    vector<window_run> wanted;
    local_error problem = attempt([&] {
        reads.read(reader, [&](auto const& read) {
            for (window_run const& window : runs) {
                holder_t const file =
                    from.tensors[window.position.tensor].shards[window.position.shard].file;
                if (files.is_here(from.files[file].path))
                    read(window);
                else
                    wanted.push_back(window);
            }
        });
    });
    keep_first(problem, read_from_others(world, files, reader, reads, wanted));
    return problem;
}

/// A device to which loops copy, or null.
inline device* device_of(vector<stored_loop> const& loops) {
    for (stored_loop const& loop : loops)
        if (device* const target = loop.conversion.devices.target)
            return target;
    return nullptr;
}

RESHARD_DECL planned_reads::planned_reads(checkpoint const& source, vector<stored_loop> wanted,
                                          bool verify)
    : reader(source, verify, device_of(wanted)), loops(source.metadata(), std::move(wanted)) {
    loops.for_each_window([this](window_run const& window) { windows.push_back(window); });
}

RESHARD_DECL read_notice notice_of(planned_reads const& reads, file_reads chosen) {
    read_notice notice;
    for (window_run const& window : reads.windows)
        notice.bytes += window.bytes.size();
    notice.may_share = chosen != file_reads::direct && !reads.reader.source().is_mapped();
    return notice;
}

/// Reads the windows that only this rank needs, and its share of the windows that ranks of its node
/// share.
///
/// \par Collective every rank of the group, in the same order
/// \return the error of this rank's reads; the rank continues, since other ranks wait for it
inline local_error read_or_share(mpi_group const& world, planned_reads& reads,
                                 vector<read_notice> const& notices, options const& options) {
    auto& [reader, loops, windows, earlier] = reads;
    local_error problem = earlier;
    if (options.between_nodes.has_relays())
        keep_first(problem, read_relayed(world, reader, loops, windows, options.reads));
    node_windows shared{{world, {}}, {}, nullptr};
    if (is_worth_sharing(notices, options.reads))
        shared = share_windows(world, reader, loops, windows, options.reads);
    keep_first(problem, attempt([&] {
                   auto const own = windows_without(loops, windows, shared.windows);
                   loops.read(reader, [&](auto const& read) { std::ranges::for_each(own, read); });
               }));
    if (shared.slots)
        keep_first(problem,
                   read_shared(shared.node.group, *shared.slots, reader, loops, shared.windows));
    return problem;
}

RESHARD_DECL void read_windows(mpi_group const& world, planned_reads& reads,
                               vector<read_notice> const& notices, options const& options) {
    local_error problem = reads.problem;
    if (world.size() == 1)
        keep_first(problem, attempt([&] { run(reads.reader, reads.loops); }));
    else if (auto const files = united(reads.reader.source()))
        keep_first(problem, read_united(world, *files, reads.reader, reads.loops, reads.windows));
    else
        keep_first(problem, read_or_share(world, reads, notices, options));
    keep_first(problem, attempt([&] {
                   if (!problem)
                       reads.reader.check_unchanged();
               }));
    agree(world, problem);
}

} // namespace reshard::detail

#endif
