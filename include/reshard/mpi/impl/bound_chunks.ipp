// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_BOUND_CHUNKS_IPP
#define RESHARD_MPI_IMPL_BOUND_CHUNKS_IPP

#include <reshard/mpi/bound_chunks.hpp>

#include <reshard/core/config.hpp>
#include <reshard/mpi/cut_transfer.hpp>

#include <algorithm>

namespace reshard::detail {

RESHARD_DECL std::vector<chunk>
chunks_of(plan const& plan, std::vector<std::uint32_t> const& numbers, index_t limit) {
    std::vector<chunk> chunks;
    for (std::uint32_t const number : numbers) {
        transfer const& transfer = plan.transfers[number];
        data_type const dtype = wire_dtype(plan, transfer);
        index_t const elements = std::max<index_t>(1, limit * 8 / bits(dtype));
        cut_transfer(cut_of(plan, transfer), elements, [&](box const& region) {
            index_t const bytes = byte_count(element_count(region), dtype);
            if (chunks.empty() || chunks.back().bytes + bytes > limit)
                chunks.emplace_back();
            chunks.back().packets.push_back({number, packet::all_of_it, bytes});
            if (element_count(region) != cut_of(plan, transfer).elements()) {
                chunks.back().packets.back().region =
                    static_cast<std::uint32_t>(chunks.back().regions.size());
                chunks.back().regions.push_back(region);
            }
            chunks.back().bytes += bytes;
        });
    }
    return chunks;
}

RESHARD_DECL box region_of(plan const& plan, chunk const& chunk, packet const& packet) {
    return packet.region == packet::all_of_it
               ? reshard::whole(cut_of(plan, plan.transfers[packet.transfer]).loop_extent())
               : chunk.regions[packet.region];
}

/// The largest piece of a local transfer between two looks at the network.
inline constexpr index_t local_piece_bytes = 4 * chunk_bytes;

RESHARD_DECL bound_chunks<std::byte const>
chunk_binder::sends(std::vector<lane> const& lanes) const {
    return bind<std::byte const>(lanes, [this](packet const& packet, data_type& stored) {
        transfer const& moved = bound_.whole.transfers[packet.transfer];
        if (transfer const* const input = input_of(packet)) {
            stored = bound_.whole.target_dtypes[moved.target_key];
            auto const [data, position] = target_end(bound_, *input);
            return bound_end<void const*>{data, position};
        }
        stored = bound_.whole.source_dtypes[moved.source_key];
        return source_end(bound_, moved);
    });
}

RESHARD_DECL bound_chunks<std::byte> chunk_binder::receives(std::vector<lane> const& lanes) const {
    return bind<std::byte>(lanes, [this](packet const& packet, data_type& stored) {
        transfer const& moved = bound_.whole.transfers[packet.transfer];
        stored = bound_.whole.target_dtypes[moved.target_key];
        return target_end(bound_, moved);
    });
}

RESHARD_DECL std::vector<bound_copy>
chunk_binder::copies(std::vector<std::uint32_t> const& numbers) const {
    std::vector<bound_copy> bound;
    for (std::uint32_t const number : numbers)
        add_local(bound_.whole.transfers[number], bound);
    join_blocks(std::span(bound), copies_, &affine_copy::target_strides,
                [](bound_copy const& copy) { return copy.target; });
    return bound;
}

RESHARD_DECL void chunk_binder::add_local(transfer const& moved,
                                          std::vector<bound_copy>& copies) const {
    index_t const bits_each = bits(bound_.whole.target_dtypes[moved.target_key]);
    copy_ends const ends{source_end(bound_, moved), target_end(bound_, moved)};
    for_each_copy(moved, ends, std::max<index_t>(1, local_piece_bytes * 8 / bits_each),
                  [&](bound_copy const& copy) { copies.push_back(copy); });
}

RESHARD_DECL byte_place chunk_binder::place_of(memory_place const& memory, box const& region,
                                               data_type dtype) {
    return byte_place_of(memory.offset + linear_offset(region.offset, memory.strides), dtype);
}

} // namespace reshard::detail

#endif
