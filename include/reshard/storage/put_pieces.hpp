// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_PUT_PIECES_HPP
#define RESHARD_STORAGE_PUT_PIECES_HPP

#include <reshard/bind/bind.hpp>
#include <reshard/copy/copy_elements.hpp>
#include <reshard/copy/cut_loop.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/storage/file_pieces.hpp>
#include <reshard/storage/written_files.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

/// \file
/// Turns transfers into the bytes of files. Each piece is built and written window by window.

namespace reshard::detail {

/// The part of a transfer in one window of a piece.
struct piece_part {
    index_t window = 0;
    transfer const* from = nullptr;
    affine_copy loop; ///< target positions count elements of the window
};

/// The transfers, sorted by target piece. The transfers into piece `i` begin at `first[i]`.
struct piece_transfers {
    vector<transfer const*> all;
    vector<std::size_t> first;

    std::span<transfer const* const> of(std::size_t piece) const {
        return std::span(all).subspan(first[piece], first[piece + 1] - first[piece]);
    }
};

/// \pre the targets of the plan are the pieces, as `layout_of` numbers them
inline piece_transfers transfers_of(plan const& plan, file_pieces const& pieces) {
    piece_transfers sorted;
    for (transfer const& t : plan.transfers)
        sorted.all.push_back(&t);
    auto const position_of = [](transfer const* t) {
        return std::pair(t->target_key, t->target_shard);
    };
    std::stable_sort(
        sorted.all.begin(), sorted.all.end(),
        [&](transfer const* a, transfer const* b) { return position_of(a) < position_of(b); });
    std::size_t next = 0;
    std::uint32_t number = 0; // the piece's number in its tensor
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        bool const is_first = i == 0 || pieces[i].position.tensor != pieces[i - 1].position.tensor;
        number = is_first ? 0 : number + 1;
        sorted.first.push_back(next);
        while (next < sorted.all.size() &&
               position_of(sorted.all[next]) ==
                   std::pair<key_id, std::uint32_t>(pieces[i].position.tensor, number))
            ++next;
    }
    sorted.first.push_back(next);
    return sorted;
}

/// The parts in all windows of a piece, in the order of windows.
inline vector<piece_part> parts_of(bound_plan const& bound,
                                   std::span<transfer const* const> transfers, index_t window) {
    vector<piece_part> parts;
    for (transfer const* const t : transfers)
        if (t->source_key != zero_source)
            cut_to_windows(loop_of(bound, *t), target_of_loop, window,
                           [&](index_t number, affine_copy part) {
                               part.target_offset -= number * window;
                               parts.push_back({number, t, part});
                           });
    std::stable_sort(parts.begin(), parts.end(),
                     [](piece_part const& a, piece_part const& b) { return a.window < b.window; });
    return parts;
}

/// The piece with which process `me` of `size` begins. Processes begin in different files if
/// possible, since systems let only one process write to a file at a time.
inline std::size_t first_piece(checkpoint_metadata const& written, file_pieces const& pieces,
                               holder_t me, int size) {
    auto const file =
        static_cast<holder_t>(written.files.size() * me / static_cast<unsigned>(size));
    auto const match = std::find_if(pieces.begin(), pieces.end(), [&](file_piece const& piece) {
        return piece.process == me &&
               written.tensors[piece.position.tensor].shards[piece.position.shard].file >= file;
    });
    return static_cast<std::size_t>(match - pieces.begin());
}

/// Writes the pieces of process `me` of `size`.
///
/// \param wanted_bytes returns the wanted size of a window, given the transfers into a piece
/// \param content      returns the bytes of a window, given its size and its parts; elements
///                     outside all parts are zero bits
/// \param wrote        gets the size of each window after it is written
/// \pre   the targets of the plan are the pieces, as `layout_of` numbers them
void put_pieces(bound_plan const& bound, file_pieces const& pieces, holder_t me, int size,
                written_files& writer, auto&& wanted_bytes, auto&& content, auto&& wrote) {
    piece_transfers const transfers = transfers_of(bound.whole, pieces);
    checkpoint_metadata const& written = writer.plan().metadata;
    std::size_t const begin = first_piece(written, pieces, me, size);
    for (std::size_t step = 0; step < pieces.size(); ++step) {
        std::size_t const i = (begin + step) % pieces.size();
        file_piece const& piece = pieces[i];
        if (piece.process != me)
            continue;
        checkpoint_tensor const& tensor = written.tensors[piece.position.tensor];
        std::uint64_t const chunk =
            written.files[tensor.shards[piece.position.shard].file].chunk_bytes;
        shard_window const window =
            window_of(tensor.dtype, chunk, wanted_bytes(transfers.of(i), tensor.dtype));
        auto const parts = parts_of(bound, transfers.of(i), window.elements);
        std::size_t first = 0;
        for (std::uint64_t done = 0; done < piece.bytes.size(); done += window.bytes) {
            auto const number = static_cast<index_t>(done / window.bytes);
            std::size_t last = first;
            while (last < parts.size() && parts[last].window == number)
                ++last;
            std::uint64_t const bytes = std::min(window.bytes, piece.bytes.size() - done);
            writer.put(piece.position, piece.bytes.begin + done,
                       content(bytes, std::span(parts).subspan(first, last - first)));
            wrote(bytes);
            first = last;
        }
    }
}

/// True if the elements of a loop are contiguous on both sides.
constexpr bool is_dense(affine_copy const& fused) {
    return fused.ndim() == 0 ||
           (fused.ndim() == 1 && fused.source_strides[0] == 1 && fused.target_strides[0] == 1);
}

/// The tensor memory that already has the bytes of a window in the written form; empty if there is
/// none.
inline std::span<std::byte const> bytes_in_memory(bound_plan const& bound, std::uint64_t size,
                                                  std::span<piece_part const> parts) {
    if (parts.size() != 1)
        return {};
    element_conversion const conversion = conversion_of(bound, *parts[0].from);
    if (!conversion.chain.empty() || conversion.devices.any())
        return {};
    bound_end<void const*> const source = source_end(bound, *parts[0].from);
    affine_copy const loop = fuse(parts[0].loop);
    auto const width =
        static_cast<std::uint64_t>(bits(bound.whole.source_dtypes[parts[0].from->source_key]));
    bool const is_all = static_cast<std::uint64_t>(element_count(loop)) * width == size * 8;
    if (width % 8 != 0 || !is_dense(loop) || !is_all)
        return {};
    return {static_cast<std::byte const*>(source.data) +
                static_cast<std::uint64_t>(loop.source_offset) * width / 8,
            size};
}

/// The bytes of a window from tensors in memory. They are copied to `buffer`, unless a tensor's
/// memory already has them in the written form.
inline std::span<std::byte const> content_from_memory(bound_plan const& bound, std::uint64_t size,
                                                      std::span<piece_part const> parts,
                                                      vector<std::byte>& buffer) {
    if (auto const bytes = bytes_in_memory(bound, size, parts); !bytes.empty())
        return bytes;
    buffer.assign(size, std::byte{0});
    run_and_wait(bound.devices ? *bound.devices : device_list(), [&] {
        for (piece_part const& part : parts)
            copy_elements(part.loop, conversion_of(bound, *part.from),
                          source_end(bound, *part.from).data, buffer.data());
    });
    return buffer;
}

} // namespace reshard::detail

#endif
