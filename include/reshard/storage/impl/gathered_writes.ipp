// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_GATHERED_WRITES_IPP
#define RESHARD_STORAGE_IMPL_GATHERED_WRITES_IPP

#include <reshard/core/vector.hpp>
#include <reshard/storage/gathered_writes.hpp>

#include <reshard/bind/program.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/copy/conversions.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/storage/put_pieces.hpp>
#include <reshard/storage/window_slots.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// The most bytes that a process gathers from other processes before it writes them.
inline constexpr std::uint64_t round_bytes = std::uint64_t{64} << 20;

/// The tensors with the given keys.
inline const_state_dict tensors_of(const_state_dict const& tensors,
                                   std::set<std::string, std::less<>> const& keys) {
    const_state_dict state;
    for (auto const& [descriptor, tensor] : tensors)
        if (keys.contains(descriptor.key))
            state.add(descriptor, tensor);
    return state;
}

/// True if an output has elements without a source.
inline bool has_zeros(mapping const& program, std::string_view key) {
    piece_list const& pieces = program.find(key)->value.pieces;
    for (std::size_t i = 0; i < pieces.size(); ++i)
        if (pieces.source(i) == zero_source)
            return true;
    return false;
}

/// Adds the keys of the tensors that an output is made of.
inline void add_sources(std::set<std::string, std::less<>>& keys, mapping const& program,
                        std::string_view key) {
    piece_list const& pieces = program.find(key)->value.pieces;
    for (std::size_t i = 0; i < pieces.size(); ++i)
        if (pieces.source(i) != zero_source)
            keys.emplace(program.sources().key(pieces.source(i)));
}

/// Redistributes the elements of pieces to the writers of the pieces, and writes them.
///
/// \par Collective every rank of the group, in the same order
void put_redistributed(group auto const& world, written_files& writer,
                       std::span<file_piece const> pieces, held_sources const& from) {
    vector<vector<std::byte>> memory;
    vector<file_piece> own_pieces;
    const_state_dict have;
    state_dict want;
    checkpoint_metadata const& written = writer.plan().metadata;
    agree_on(world, [&] {
        std::set<std::string, std::less<>> keys;
        for (file_piece const& piece : pieces) {
            add_sources(keys, from.program, written.tensors[piece.position.tensor].key);
            if (piece.process != static_cast<holder_t>(world.rank()))
                continue;
            shard_descriptor const shard = descriptor_of(written, piece);
            index_vector const shape = local_shape(shard);
            own_pieces.push_back(piece);
            memory.emplace_back(piece.bytes.size());
            want.add(shard, tensor_view{memory.back().data(), shard.dtype, shape,
                                        row_major_strides(shape)});
        }
        have = tensors_of(from.tensors, keys);
    });
    redistribute(world, std::move(have), std::move(want),
                 {.program = from.program, .devices = from.devices});
    agree_on(world, [&] {
        for (std::size_t i = 0; i < own_pieces.size(); ++i)
            writer.put(own_pieces[i].position, own_pieces[i].bytes.begin, memory[i]);
    });
}

/// Redistributes and writes all pieces, in rounds. A round needs about `round_bytes` of memory per
/// process.
///
/// \par Collective every rank of the group, in the same order
void put_in_rounds(group auto const& world, written_files& writer, file_pieces const& gathered,
                   held_sources const& from) {
    std::uint64_t const most = round_bytes * static_cast<std::uint64_t>(world.size());
    for (std::size_t first = 0, last = 0; first < gathered.size(); first = last) {
        std::uint64_t bytes = 0;
        while (last < gathered.size() &&
               (last == first || bytes + gathered[last].bytes.size() <= most))
            bytes += gathered[last++].bytes.size();
        put_redistributed(world, writer, std::span(gathered).subspan(first, last - first), from);
    }
}

/// Cuts pieces into windows that fit into a slot.
inline file_pieces windows_of(checkpoint_metadata const& written, file_pieces const& pieces) {
    file_pieces windows;
    for (file_piece const& piece : pieces) {
        checkpoint_tensor const& tensor = written.tensors[piece.position.tensor];
        std::uint64_t const chunk =
            written.files[tensor.shards[piece.position.shard].file].chunk_bytes;
        std::uint64_t const step = window_of(tensor.dtype, chunk, std::uint64_t{1} << 20).bytes;
        for (std::uint64_t begin = piece.bytes.begin; begin < piece.bytes.end; begin += step)
            windows.push_back({piece.position,
                               {begin, std::min(piece.bytes.end, begin + step)},
                               piece.process,
                               true});
    }
    return windows;
}

/// The elements that this process puts into windows, as transfers of a plan.
///
/// The members refer to each other.
struct window_parts {
    window_parts(checkpoint_metadata const& written, file_pieces const& windows,
                 held_sources const& from, mpi_group const& world)
        : target(layout_of(written, windows, world.size())),
          problem(problem_of(from.program, from.all, target)),
          me(static_cast<holder_t>(world.rank())),
          whole(make_plan(problem, {holder_set({me}), holder_set({me})},
                          {.between_nodes = balanced_senders()})),
          targets(shapes_of(written, windows)),
          transfers(transfers_of(whole, windows)),
          devices(from.devices) {
        sources.add(from.tensors, from.all, me);
    }
    window_parts(window_parts const&) = delete;
    window_parts& operator=(window_parts const&) = delete;

    /// Copies this process's elements of a window to `bytes`, where the window is built.
    void put(std::size_t window, std::byte* bytes) const {
        bound_plan const bound{whole,   problem, sources, targets, &all_conversions(),
                               nullptr, &devices};
        run_and_wait(devices, [&] {
            for (transfer const* const t : transfers.of(window))
                if (t->source_holder == me)
                    copy_elements(loop_of(bound, *t), conversion_of(bound, *t),
                                  source_end(bound, *t).data, bytes);
        });
    }

    layout target;
    plan_problem problem;
    holder_t me;
    plan whole; ///< this process's sends, and its windows (to find gaps)
    shard_views<const_tensor_view> sources;
    shard_views<tensor_view> targets;
    piece_transfers transfers;
    device_list const& devices;
};

/// Writes windows in rounds. In each round all ranks copy their elements into the slots. Then the
/// owner of each slot writes it, while the slots of the next round are filled.
///
/// \par Collective every rank of the node, in the same order
/// \return the error of this rank's copies and writes; the rank continues, since other ranks wait
///         for it
/// \throws error with errc::deadline
inline local_error put_through_slots(mpi_group const& node, window_slots const& slots,
                                     written_files& writer, file_pieces const& windows,
                                     window_parts const& parts) {
    slot_rounds const rounds(node, windows.size());
    local_error problem;
    for (std::size_t round = 0; round < rounds.size(); ++round) {
        for (std::size_t const rank : ranks_from_own(node))
            if (auto const window = rounds.item_of(rank, round); window && !problem)
                keep_first(problem, attempt([&] { parts.put(*window, slots.slot(rank, round)); }));
        slots.meet();
        auto const own = rounds.item_of(rounds.me(), round);
        if (!own || problem)
            continue;
        file_piece const& window = windows[*own];
        problem = attempt([&] {
            writer.put(window.position, window.bytes.begin,
                       {slots.slot(rounds.me(), round), window.bytes.size()});
        });
    }
    return problem;
}

/// True for a piece that can pass through slots: its elements have whole bytes and come from ranks,
/// and its windows are not too large.
inline bool fits_slots(checkpoint_metadata const& written, mapping const& program,
                       file_piece const& piece) {
    checkpoint_tensor const& tensor = written.tensors[piece.position.tensor];
    return bits(tensor.dtype) % 8 == 0 && !has_zeros(program, tensor.key) &&
           written.files[tensor.shards[piece.position.shard].file].chunk_bytes <= most_slot_bytes;
}

/// Writes the pieces that can pass through memory that all ranks share, and removes them from
/// `pieces`.
///
/// \par Collective every rank of the group, in the same order
inline void put_shared(mpi_group const& world, written_files& writer, file_pieces& pieces,
                       held_sources const& from) {
    checkpoint_metadata const& written = writer.plan().metadata;
    auto const remainder =
        std::stable_partition(pieces.begin(), pieces.end(), [&](file_piece const& piece) {
            return !fits_slots(written, from.program, piece);
        });
    if (remainder == pieces.end() || world.size() == 1)
        return;
    node_ranks const node = agreed_node_of(world);
    if (node.group.size() != world.size())
        return;
    file_pieces const windows = windows_of(written, {remainder, pieces.end()});
    std::uint64_t most = 0;
    for (file_piece const& window : windows)
        most = std::max(most, window.bytes.size());
    auto const slots = make_slots(node.group, most);
    if (!slots)
        return;
    std::unique_ptr<window_parts> parts;
    agree_on(world, [&] { parts = std::make_unique<window_parts>(written, windows, from, world); });
    agree(world, put_through_slots(node.group, *slots, writer, windows, *parts));
    pieces.erase(remainder, pieces.end());
}

inline file_pieces gathered_only(file_pieces pieces) {
    erase_if(pieces, [](file_piece const& piece) { return !piece.is_gathered; });
    return pieces;
}

RESHARD_DECL void put_gathered(solo const& alone, written_files& writer, file_pieces pieces,
                               held_sources const& from) {
    put_in_rounds(alone, writer, gathered_only(std::move(pieces)), from);
}

RESHARD_DECL void put_gathered(mpi_group const& world, written_files& writer, file_pieces pieces,
                               held_sources const& from) {
    file_pieces remaining_pieces = gathered_only(std::move(pieces));
    put_shared(world, writer, remaining_pieces, from);
    put_in_rounds(world, writer, remaining_pieces, from);
}

} // namespace reshard::detail

#endif
