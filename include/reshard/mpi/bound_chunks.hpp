// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_BOUND_CHUNKS_HPP
#define RESHARD_MPI_BOUND_CHUNKS_HPP

#include <reshard/bind/bind.hpp>
#include <reshard/copy/row_batch.hpp>
#include <reshard/core/box.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/mpi/cut_transfer.hpp>
#include <reshard/plan/cost.hpp>
#include <reshard/plan/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// \file
/// Chunks and local transfers with addresses instead of coordinates: the work that remains at run
/// time.

namespace reshard::detail {

/// A box of one transfer that travels in one chunk.
///
/// On the wire, its elements have the wire data type and are in row-major order of the target's
/// axes. The packet begins at a byte boundary.
struct packet {
    std::uint32_t transfer = 0;       ///< index in the plan
    std::uint32_t region = all_of_it; ///< index in the chunk's regions
    index_t bytes = 0;

    /// The value of `region` if the packet is a whole transfer.
    static constexpr std::uint32_t all_of_it = 0xffffffff;

    bool operator==(packet const&) const = default;
};

/// The packets of one message: at most `chunk_bytes` bytes, but at least one element.
struct chunk {
    vector<packet> packets;
    vector<box> regions{}; ///< the boxes of packets that are not whole transfers
    index_t bytes = 0;
};

/// The chunks in which the transfers `numbers` travel, in that order. A pure function of the
/// transfers' geometry, so both sides compute the same chunks.
///
/// \par Units `limit` in bytes
RESHARD_DECL vector<chunk> chunks_of(plan const& plan, vector<std::uint32_t> const& numbers,
                                     index_t limit = chunk_bytes);

/// The box that a packet covers in its transfer's extent, in the order of the target's axes.
///
/// \pre `packet` belongs to `chunk`
RESHARD_DECL box region_of(plan const& plan, chunk const& chunk, packet const& packet);

/// The chunks that a process sends to, or receives from, one other process, in order. Either all of
/// them belong to one tree, or none belongs to a tree.
struct lane {
    static constexpr std::uint32_t no_tree = 0xffffffff;

    int peer = 0;
    vector<chunk> chunks;
    /// The turn of the first chunk: how often its elements were passed on before. So a process
    /// receives elements in an earlier turn than it passes them on.
    std::size_t first_turn = 0;
    std::uint32_t tree = no_tree;
    /// The number of the first chunk among the chunks that this process passes on.
    std::size_t first_relayed = not_relayed;

    static constexpr std::size_t not_relayed = static_cast<std::size_t>(-1);
};

/// One packet: its copy, its address in memory, and its offset in the chunk.
struct bound_packet {
    std::uint32_t copy = 0;
    bool joins_next = false;     ///< the next packet continues the same rows in memory
    index_t wire = 0;            ///< in bytes
    std::byte* memory = nullptr; ///< only read if the chunk is sent
};

/// One chunk: packets `first` to `last`, or `direct` if the tensor's memory has the same bytes as
/// the wire.
struct bound_chunk {
    int peer = 0;
    int bytes = 0;
    std::byte* direct = nullptr; ///< only read if the chunk is sent
    std::size_t first = 0;
    std::size_t last = 0;
    std::size_t relayed = lane::not_relayed; ///< its number among the chunks that are passed on
    bool is_of_tree = false;
};

/// Records which of the chunks that a process passes on have arrived.
class arrivals {
public:
    explicit arrivals(std::size_t count) : arrivals_(count) {}

    bool is_empty() const { return arrivals_.empty(); }

    /// Starts a new run, in which no chunk has arrived.
    void rewind() { std::fill(arrivals_.begin(), arrivals_.end(), false); }

    /// True if a chunk may be sent: its elements have arrived, or begin at this process.
    bool allow(bound_chunk const& sent) const {
        return sent.relayed == lane::not_relayed || arrivals_[sent.relayed];
    }

    void add(bound_chunk const& received) {
        if (received.relayed != lane::not_relayed)
            arrivals_[received.relayed] = true;
    }

private:
    vector<bool> arrivals_;
};

/// The chunks of one direction, sorted by turn and then by lane.
struct bound_chunks {
    vector<bound_chunk> chunks;
    vector<bound_packet> packets;
};

/// A copy within the process.
struct bound_copy {
    std::uint32_t copy = 0;
    bool joins_next = false; ///< the next copy continues the same rows
    std::byte const* source = nullptr;
    std::byte* target = nullptr;
    index_t bytes = 0;
};

/// The source and the target of a transfer, in memory that this process can access.
struct copy_ends {
    bound_end<void const*> source;
    bound_end<void*> target;
};

/// The memory in which chunks are packed.
enum class wire_place : std::uint8_t {
    message, ///< in a cache; not packed if the tensor has the same bytes as the wire
    cache,   ///< in a slot that stays in a cache
    memory,  ///< in a slot that is written with non-temporal stores
};

/// Gives chunks and local transfers their addresses.
class chunk_binder {
public:
    /// \param write_mode  how results are written
    /// \param wire_device the device in whose memory chunks are packed; null for host memory
    /// \pre   with `wire_device`, all ends of chunks at this process are there, too
    chunk_binder(bound_plan const& bound, stores write_mode, copy_table& copies,
                 wire_place wire = wire_place::message, device* wire_device = nullptr)
        : bound_(bound),
          how_(write_mode),
          copies_(copies),
          wire_(wire),
          wire_device_(wire_device) {}

    bound_chunks sends(vector<lane> const& lanes) const { return bind(lanes, true); }

    bound_chunks receives(vector<lane> const& lanes) const { return bind(lanes, false); }

    /// The copies of the transfers `numbers`. Each transfer has a source, and both its ends are in
    /// this process.
    vector<bound_copy> copies(vector<std::uint32_t> const& numbers) const;

    /// Cuts a transfer into copies of at most `limit` elements, in the order of the target's axes.
    /// Calls `take(copy)` for each copy.
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
    void add_local(transfer const& moved, vector<bound_copy>& copies) const;

    static byte_place place_of(memory_place const& memory, box const& region, data_type dtype);

    /// The turn of a chunk of a lane.
    struct chunk_turn {
        std::size_t turn = 0;
        lane const* from = nullptr;
        std::size_t number = 0;
    };

    /// One end of a packet: its memory, the data type there, and the conversion to or from the
    /// wire.
    struct packet_end {
        bound_end<void*> memory;
        data_type stored{};
        element_conversion conversion;
    };

    /// Binds the chunks in order: the first chunk of every lane, then the second chunks, and so on.
    /// So no peer waits until another peer has all its chunks.
    bound_chunks bind(vector<lane> const& lanes, bool sent) const;

    void bind_chunk(chunk const& chunk, bool sent, bound_chunks& bound) const;

    /// The end of a packet at this process. The wire has the narrower data type, so the end with
    /// the wider type casts.
    packet_end end_of(packet const& packet, bool sent) const;

    /// Elements of a transfer that keep their type at this process.
    element_conversion unconverted(transfer const& moved, data_type dtype) const;

    /// The transfer that brings the elements of a packet to this process, or null if they begin
    /// here.
    transfer const* input_of(packet const& packet) const;

    std::uint32_t add_packing(box const& region, packet_end const& end, index_t remainder,
                              bool sent) const;

    bound_plan const& bound_;
    stores how_;
    copy_table& copies_;
    wire_place wire_;
    device* wire_device_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/bound_chunks.ipp>
#endif

#endif
