// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_BOUND_CHUNKS_IPP
#define RESHARD_MPI_IMPL_BOUND_CHUNKS_IPP

#include <reshard/mpi/bound_chunks.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/mpi/cut_transfer.hpp>

#include <algorithm>
#include <span>

namespace reshard::detail {

RESHARD_DECL vector<chunk> chunks_of(plan const& plan, vector<std::uint32_t> const& numbers,
                                     index_t limit) {
    vector<chunk> chunks;
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

/// The most bytes that a local transfer copies between two polls of the network.
inline constexpr index_t local_piece_bytes = 4 * chunk_bytes;

RESHARD_DECL bound_chunks chunk_binder::bind(vector<lane> const& lanes, bool sent) const {
    bound_chunks bound;
    vector<chunk_turn> turns;
    std::size_t packets = 0;
    for (lane const& lane : lanes)
        for (std::size_t i = 0; i < lane.chunks.size(); ++i) {
            turns.push_back({lane.first_turn + i, &lane, i});
            std::size_t const count = lane.chunks[i].packets.size();
            packets += count > 1 || wire_ != wire_place::message ? count : 0;
        }
    sort_by(turns, [](auto const& a, auto const& b) { return a.turn < b.turn; });
    bound.packets.reserve(packets);
    bound.chunks.reserve(turns.size());
    for (auto const& [turn, from, i] : turns) {
        bound.chunks.push_back({from->peer, static_cast<int>(from->chunks[i].bytes), nullptr,
                                bound.packets.size(), bound.packets.size()});
        if (from->first_relayed != lane::not_relayed)
            bound.chunks.back().relayed = from->first_relayed + i;
        bound.chunks.back().is_of_tree = from->tree != lane::no_tree;
        bind_chunk(from->chunks[i], sent, bound);
    }
    return bound;
}

RESHARD_DECL void chunk_binder::bind_chunk(chunk const& chunk, bool sent,
                                           bound_chunks& bound) const {
    index_t wire = 0;
    for (packet const& packet : chunk.packets) {
        packet_end end = end_of(packet, sent);
        if (wire_device_)
            end.conversion.devices = ends_on(wire_device_, wire_device_);
        memory_place const& position = end.memory.position;
        box const region = region_of(bound_.whole, chunk, packet);
        byte_place const at = place_of(position, region, end.stored);
        std::byte* const memory = static_cast<std::byte*>(end.memory.data) + at.bytes;
        if (wire_ == wire_place::message && chunk.packets.size() == 1 &&
            end.conversion.chain.empty() && !end.conversion.devices.any() &&
            bits(end.stored) % 8 == 0 && is_row_major(region.shape, position.strides)) {
            bound.chunks.back().direct = memory;
            return;
        }
        bound.packets.push_back({add_packing(region, end, at.rest, sent), false, wire, memory});
        wire += packet.bytes;
    }
    bound.chunks.back().last = bound.packets.size();
    join_blocks(std::span(bound.packets).subspan(bound.chunks.back().first), copies_,
                sent ? &affine_copy::source_strides : &affine_copy::target_strides,
                [](bound_packet const& packet) { return packet.memory; });
}

RESHARD_DECL chunk_binder::packet_end chunk_binder::end_of(packet const& packet, bool sent) const {
    transfer const& moved = bound_.whole.transfers[packet.transfer];
    data_type const target = bound_.whole.target_dtypes[moved.target_key];
    bool const casts = sent == (wire_dtype(bound_.whole, moved) == target);
    if (!sent)
        return {target_end(bound_, moved), target,
                casts ? conversion_of(bound_, moved) : unconverted(moved, target)};
    if (transfer const* const input = input_of(packet)) {
        element_conversion passed{target};
        passed.devices = ends_on(
            device_of(bound_, bound_.targets, input->target_key, input->target_shard), nullptr);
        return {target_end(bound_, *input), target, passed};
    }
    auto const [data, position] = source_end(bound_, moved);
    data_type const source = bound_.whole.source_dtypes[moved.source_key];
    return {{const_cast<void*>(data), position},
            source,
            casts ? conversion_of(bound_, moved) : unconverted(moved, source)};
}

RESHARD_DECL element_conversion chunk_binder::unconverted(transfer const& moved,
                                                          data_type dtype) const {
    element_conversion same{dtype};
    same.devices = ends_of(bound_, moved);
    return same;
}

RESHARD_DECL transfer const* chunk_binder::input_of(packet const& packet) const {
    relay const* const step = find_relay(bound_.whole.relays, packet.transfer);
    return step && step->input != relay::no_input ? &bound_.whole.transfers[step->input] : nullptr;
}

RESHARD_DECL std::uint32_t chunk_binder::add_packing(box const& region, packet_end const& end,
                                                     index_t remainder, bool sent) const {
    index_vector const dense = row_major_strides(region.shape);
    index_vector const& strides = end.memory.position.strides;
    if (sent)
        return copies_.add({region.shape, remainder, strides, 0, dense}, end.conversion,
                           wire_ == wire_place::memory ? stores::streaming : stores::cached);
    return copies_.add({region.shape, 0, dense, remainder, strides}, end.conversion, how_);
}

RESHARD_DECL vector<bound_copy> chunk_binder::copies(vector<std::uint32_t> const& numbers) const {
    vector<bound_copy> bound;
    for (std::uint32_t const number : numbers)
        add_local(bound_.whole.transfers[number], bound);
    join_blocks(std::span(bound), copies_, &affine_copy::target_strides,
                [](bound_copy const& copy) { return copy.target; });
    return bound;
}

RESHARD_DECL void chunk_binder::add_local(transfer const& moved, vector<bound_copy>& copies) const {
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
