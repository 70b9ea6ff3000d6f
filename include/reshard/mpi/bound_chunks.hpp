// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_BOUND_CHUNKS_HPP
#define RESHARD_MPI_BOUND_CHUNKS_HPP

#include <reshard/bind/bind.hpp>
#include <reshard/copy/row_batch.hpp>
#include <reshard/core/box.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/mpi/cut_transfer.hpp>
#include <reshard/plan/cost.hpp>
#include <reshard/plan/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

/// \file
/// Chunks and local transfers with addresses instead of coordinates: the work that remains at run
/// time.

namespace reshard::detail {

/// The box of one transfer that travels in one chunk.
///
/// On the wire, its elements have the wire data type and are in row-major order of the target's
/// axes. The packet begins at a whole byte.
struct packet {
    std::uint32_t transfer = 0;       ///< place in the plan
    std::uint32_t region = all_of_it; ///< of the chunk's
    index_t bytes = 0;

    /// The value of `region` if the packet is a whole transfer.
    static constexpr std::uint32_t all_of_it = 0xffffffff;

    bool operator==(packet const&) const = default;
};

/// Packets of one message, at most `chunk_bytes` of them (one element at least).
struct chunk {
    std::vector<packet> packets;
    std::vector<box> regions{}; ///< of packets that are parts of transfers
    index_t bytes = 0;
};

/// The chunks in which the transfers `numbers` travel, in their order: a pure function of their
/// geometry, which both sides evaluate.
///
/// \par Units `limit` in bytes
RESHARD_DECL std::vector<chunk>
chunks_of(plan const& plan, std::vector<std::uint32_t> const& numbers, index_t limit = chunk_bytes);

/// The box that a packet covers in its transfer's extent, in the order of the target's axes.
///
/// \pre the packet is one of the chunk's
RESHARD_DECL box region_of(plan const& plan, chunk const& chunk, packet const& packet);

/// The chunks that a process sends to, or receives from, one other process, in order. They belong
/// to one tree or to none.
struct lane {
    static constexpr std::uint32_t no_tree = 0xffffffff;

    int peer = 0;
    std::vector<chunk> chunks;
    /// The turn of its first chunk: how often the chunk was passed on before. So a chunk that a
    /// process receives has an earlier turn than the chunk that passes it on.
    std::size_t first_turn = 0;
    std::uint32_t tree = no_tree;
    /// The number of its first chunk among those that this process passes on.
    std::size_t first_relayed = not_relayed;

    static constexpr std::size_t not_relayed = static_cast<std::size_t>(-1);
};

/// One packet: its copy, its address in memory, and its offset in the chunk.
template <class Byte>
struct bound_packet {
    std::uint32_t copy = 0;
    bool joins_next = false; ///< the next packet continues in the same rows of the memory
    index_t wire = 0;        ///< in bytes
    Byte* memory = nullptr;
};

/// One chunk: packets `first` to `last`, or `direct` if the memory has the bytes of the wire.
template <class Byte>
struct bound_chunk {
    int peer = 0;
    int bytes = 0;
    Byte* direct = nullptr;
    std::size_t first = 0;
    std::size_t last = 0;
    std::size_t relayed = lane::not_relayed; ///< its number among those that are passed on
};

/// Records which of the chunks that a process passes on have arrived.
class arrivals {
public:
    explicit arrivals(std::size_t count) : arrivals_(count) {}

    bool is_empty() const { return arrivals_.empty(); }

    /// No chunk has arrived.
    void rewind() { arrivals_.assign(arrivals_.size(), false); }

    /// True if a chunk need not wait.
    bool allow(bound_chunk<std::byte const> const& sent) const {
        return sent.relayed == lane::not_relayed || arrivals_[sent.relayed];
    }

    void add(bound_chunk<std::byte> const& received) {
        if (received.relayed != lane::not_relayed)
            arrivals_[received.relayed] = true;
    }

private:
    std::vector<bool> arrivals_;
};

/// One direction: chunks by their turn within a lane, then in the order of lanes.
template <class Byte>
struct bound_chunks {
    std::vector<bound_chunk<Byte>> chunks;
    std::vector<bound_packet<Byte>> packets;
};

/// A copy within the process.
struct bound_copy {
    std::uint32_t copy = 0;
    bool joins_next = false; ///< the next copy continues in the same rows
    std::byte const* source = nullptr;
    std::byte* target = nullptr;
    index_t bytes = 0;
};

/// The source and the target of a transfer, in memory that this process reaches.
struct copy_ends {
    bound_end<void const*> source;
    bound_end<void*> target;
};

/// Gives chunks and local transfers their addresses.
class chunk_binder {
public:
    /// Results are written as `stores` says; the wire is packed through the caches.
    ///
    /// \param may_be_direct a chunk whose memory already has the bytes of the wire needs no packing
    chunk_binder(bound_plan const& bound, stores stores, copy_table& copies,
                 bool may_be_direct = true)
        : bound_(bound), how_(stores), copies_(copies), may_be_direct_(may_be_direct) {}

    bound_chunks<std::byte const> sends(std::vector<lane> const& lanes) const;

    bound_chunks<std::byte> receives(std::vector<lane> const& lanes) const;

    /// The copies of the transfers `numbers`. Each has a source, and both its ends are in this
    /// process.
    std::vector<bound_copy> copies(std::vector<std::uint32_t> const& numbers) const;

    /// The copies of a transfer from one end to the other, of `limit` elements each at most, in the
    /// order of the target's axes; calls `take(copy)`.
    void for_each_copy(transfer const& moved, copy_ends const& ends, index_t limit,
                       auto&& take) const {
        element_conversion const conversion = conversion_of(bound_, moved);
        data_type const stored = bound_.whole.target_dtypes[moved.target_key];
        auto const& [source, target] = ends;
        cut_transfer(cut_of(bound_.whole, moved), limit, [&](box const& region) {
            byte_place const from = place_of(source.position, region, conversion.source);
            byte_place const to = place_of(target.position, region, stored);
            std::uint32_t const number =
                copies_.add({region.shape, from.rest, source.position.strides, to.rest,
                             target.position.strides},
                            conversion, how_);
            take(bound_copy{number, false, static_cast<std::byte const*>(source.data) + from.bytes,
                            static_cast<std::byte*>(target.data) + to.bytes,
                            byte_count(element_count(region), stored)});
        });
    }

private:
    void add_local(transfer const& moved, std::vector<bound_copy>& copies) const;

    static byte_place place_of(memory_place const& memory, box const& region, data_type dtype);

    /// The turn of a chunk of a lane.
    struct chunk_turn {
        std::size_t turn = 0;
        lane const* from = nullptr;
        std::size_t number = 0;
    };

    /// Orders chunks: the first one of every lane, then the second one, and so on. So no peer waits
    /// until another peer is served.
    template <class Byte, class End>
    bound_chunks<Byte> bind(std::vector<lane> const& lanes, End const& end) const {
        bound_chunks<Byte> bound;
        std::vector<chunk_turn> turns;
        std::size_t packets = 0;
        for (lane const& lane : lanes)
            for (std::size_t i = 0; i < lane.chunks.size(); ++i) {
                turns.push_back({lane.first_turn + i, &lane, i});
                std::size_t const count = lane.chunks[i].packets.size();
                packets += count > 1 || !may_be_direct_ ? count : 0;
            }
        sort_by(turns, [](auto const& a, auto const& b) { return a.turn < b.turn; });
        bound.packets.reserve(packets);
        bound.chunks.reserve(turns.size());
        for (auto const& [turn, from, i] : turns) {
            bound.chunks.push_back({from->peer, static_cast<int>(from->chunks[i].bytes), nullptr,
                                    bound.packets.size(), bound.packets.size()});
            if (from->first_relayed != lane::not_relayed)
                bound.chunks.back().relayed = from->first_relayed + i;
            bind_chunk(from->chunks[i], end, bound);
        }
        return bound;
    }

    template <class Byte, class End>
    void bind_chunk(chunk const& chunk, End const& end, bound_chunks<Byte>& bound) const {
        index_t wire = 0;
        for (packet const& packet : chunk.packets) {
            data_type stored{};
            auto const position = end(packet, stored);
            box const region = region_of(bound_.whole, chunk, packet);
            byte_place const at = place_of(position.position, region, stored);
            auto* const memory = static_cast<Byte*>(position.data) + at.bytes;
            element_conversion const conversion = conversion_at<Byte>(packet);
            if (may_be_direct_ && chunk.packets.size() == 1 && conversion.chain.empty() &&
                bits(stored) % 8 == 0 && is_row_major(region.shape, position.position.strides)) {
                bound.chunks.back().direct = memory;
                return;
            }
            bound.packets.push_back(
                {add<Byte>(region.shape, at.rest, position.position.strides, conversion), false,
                 wire, memory});
            wire += packet.bytes;
        }
        bound.chunks.back().last = bound.packets.size();
        join_blocks(std::span(bound.packets).subspan(bound.chunks.back().first), copies_,
                    is_source<Byte> ? &affine_copy::source_strides : &affine_copy::target_strides,
                    [](bound_packet<Byte> const& packet) { return packet.memory; });
    }

    /// The transfer that brings the elements that this process passes on, or null.
    transfer const* input_of(packet const& packet) const {
        relay const* const step = find_relay(bound_.whole.relays, packet.transfer);
        return step && step->input != relay::no_input ? &bound_.whole.transfers[step->input]
                                                      : nullptr;
    }

    template <class Byte>
    static constexpr bool is_source = std::is_const_v<Byte>;

    /// The conversion of elements at this end: the end with the wider type casts.
    template <class Byte>
    element_conversion conversion_at(packet const& packet) const {
        transfer const& moved = bound_.whole.transfers[packet.transfer];
        data_type const target = bound_.whole.target_dtypes[moved.target_key];
        if (is_source<Byte> && input_of(packet))
            return {target, {}};
        element_conversion const conversion = conversion_of(bound_, moved);
        bool const casts_at_source = wire_dtype(bound_.whole, moved) == target;
        if (is_source<Byte> == casts_at_source)
            return conversion;
        return {is_source<Byte> ? conversion.source : target, {}};
    }

    template <class Byte>
    std::uint32_t add(index_vector const& shape, index_t remainder, index_vector const& strides,
                      element_conversion const& conversion) const {
        index_vector const dense = row_major_strides(shape);
        if (is_source<Byte>)
            return copies_.add({shape, remainder, strides, 0, dense}, conversion, stores::cached);
        return copies_.add({shape, 0, dense, remainder, strides}, conversion, how_);
    }

    bound_plan const& bound_;
    stores how_;
    copy_table& copies_;
    bool may_be_direct_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/bound_chunks.ipp>
#endif

#endif
