// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_EXCHANGE_HPP
#define RESHARD_MPI_EXCHANGE_HPP

#include <reshard/core/vector.hpp>
#include <reshard/device/device.hpp>
#include <reshard/mpi/bound_chunks.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/node_copies.hpp>
#include <reshard/mpi/node_rings.hpp>
#include <reshard/os/shared_barrier.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

/// \file
/// Moves the bytes of a bound plan point to point: in bounded memory, pipelined, in rotated order.

namespace reshard::detail {

/// The transfers between this process and another process of its node that go through rings.
struct ring_transfers {
    vector<lane> sends;
    vector<lane> receives;
    ring_sender to;
    ring_receiver from;
    std::uint64_t process = 0; ///< the other process's number
};

/// Exchanges chunks between one process and others of its node. Each chunk fits a slot.
///
/// Nothing blocks here: a chunk moves when its ring has room for it. A chunk that is passed on also
/// waits until it has arrived, through a ring or a message.
class ring_lanes {
public:
    /// \pre all arguments outlive the lanes; no chunk is direct
    ring_lanes(copy_table const& copies, device_list const& devices, arrivals& come)
        : copies_(&copies), devices_(&devices), arrivals_(&come) {}

    /// Sets how later chunks move.
    void use(node_rings const& rings) {
        ways_ = rings.ways();
        read_process_ = rings.calls().read_process;
    }

    void add(bound_chunks sends, ring_sender ring) { sends_.push_back({std::move(sends), ring}); }

    void add(bound_chunks receives, ring_receiver ring, std::uint64_t process);

    /// Starts a new run, in which no chunk has moved yet.
    void rewind();

    /// Moves at most one chunk of each lane. False if none could be moved.
    bool advance() {
        bool any = false;
        for (auto& receive : receives_)
            any |= unpack(receive);
        for (auto& send : sends_)
            any |= pack(send);
        return any;
    }

    /// True if all chunks have moved, and no other process still reads this process's memory.
    bool is_done();

private:
    struct send_state {
        bound_chunks chunks;
        ring_sender ring;
        std::size_t next = 0;
        std::uint64_t first_slot = 0; ///< the first slot of this run
        bool has_lists = false;       ///< true if this run has sent lists
    };

    struct receive_state {
        bound_chunks chunks;
        ring_receiver ring;
        std::uint64_t process = 0;
        std::size_t next = 0;
    };

    bool pack(send_state& lane) const;

    void pack_bytes(send_state const& lane, bound_chunk const& chunk, std::byte* slot) const;

    /// Lists the chunk's runs in the slot. Returns their number, or 0 if copying is faster.
    std::uint64_t list_runs(send_state const& lane, bound_chunk const& chunk,
                            std::byte* slot) const;

    /// If the receiver refused a list, sends bytes instead. False if it refused none.
    bool replace_list(send_state& lane) const;

    bool unpack(receive_state& lane);

    void unpack_bytes(receive_state const& lane, bound_chunk const& chunk,
                      std::byte const* bytes) const;

    /// Reads the chunk's bytes from the sender's memory. False if the system refuses.
    bool read(receive_state const& lane, bound_chunk const& chunk, std::byte const* slot);

    copy_table const* copies_;
    device_list const* devices_;
    arrivals* arrivals_;
    vector<send_state> sends_;
    vector<receive_state> receives_;
    ring_ways ways_;
    decltype(system_calls::read_process) read_process_ = nullptr;
    vector<std::byte> read_bytes_; ///< the bytes of one chunk
};

/// The most chunks under way in a direction. They last longer than a time slice, so that a receiver
/// has work while its sender waits for a core.
inline constexpr std::size_t in_flight = 64;

/// The most chunks under way that need staging memory. They are few, so that they stay in a core's
/// cache.
inline constexpr std::size_t most_staged = 4;

/// The most chunks of trees under way to one rank. Messages between two ranks advance together:
/// with more chunks, the first would arrive as late as the last, and could not be passed on
/// meanwhile.
inline constexpr std::size_t most_of_trees = 2;

/// The sizes of the packed chunks of a direction, in bytes.
struct packed_sizes {
    std::size_t largest = 0;
    std::size_t sum = 0;

    explicit packed_sizes(vector<bound_chunk> const& chunks);

    /// The memory in which the chunks are packed.
    std::size_t staging() const { return std::min(sum, most_staged * largest); }
};

/// The chunks in order, and the chunks under way. All runs share the staging memory.
struct chunk_window {
    bound_chunks all;
    std::size_t next = 0;
    bound_chunk const* under_way[in_flight] = {}; ///< by slot; null if the slot is idle
    std::byte* wire[in_flight] = {};              ///< null if the chunk is direct
    vector<std::size_t> idle;                     ///< indices of `under_way`
    vector<std::byte*> free;                      ///< addresses in `staging`
    std::shared_ptr<std::byte[]> staging;
    index_t staging_bytes = 0;
    bool has_room_for_all = false; ///< each packed chunk has its own memory
    std::size_t used = 0;          ///< bytes of `staging`, if `has_room_for_all`
    std::size_t largest = 0;       ///< bytes of a packed chunk
    bool sent = false;
    device* common = nullptr;       ///< makes all copies of all chunks; may be null
    vector<repeated_copies> copies; ///< by chunk, if there is a common device

    /// \param memory of `packed_sizes(chunks.chunks).staging()` bytes
    void open(bound_chunks chunks, std::shared_ptr<std::byte[]> memory);

    void rewind() {
        next = 0;
        used = 0;
    }

    /// True if a slot and memory are free for the next chunk.
    bool can_start() const {
        return next < all.chunks.size() && !idle.empty() &&
               (all.chunks[next].direct || has_room_for_all || !free.empty());
    }

    /// \pre not all chunks are started
    bound_chunk const& next_chunk() const { return all.chunks[next]; }

    /// Packs or unpacks the chunk of a slot: starts its copies.
    void copy(std::size_t slot, copy_table const& table);

    /// The memory of a packed chunk that is recorded: always the same.
    std::byte* own_wire(std::size_t number) const {
        return staging.get() + number % most_staged * largest;
    }

    /// True if the next chunk is of a tree, and its peer has `most_of_trees` such chunks under way.
    ///
    /// \pre not all chunks are started
    bool is_peer_busy() const;

    /// Gives the next chunk a slot.
    std::size_t start();

    void finish(std::size_t slot) {
        under_way[slot] = nullptr;
        idle.push_back(slot);
        if (wire[slot] && !has_room_for_all)
            free.push_back(wire[slot]);
    }
};

/// The transfers of one process: to other processes, from other processes, within its own memory,
/// and in memory that its node shares.
struct process_transfers {
    vector<lane> sends;
    vector<lane> receives;
    vector<std::uint32_t> local;
    vector<node_transfer> on_node = {};
    node_copier copies_on_node = nullptr; ///< not null if there are transfers on the node
    vector<ring_transfers> through_rings = {};
    node_rings const* rings = nullptr;    ///< null if no transfer uses rings
    vector<shared_barrier> meetings = {}; ///< the barriers of ranks whose memory others access
    std::size_t relayed = 0;              ///< the number of chunks that it passes on
};

/// Moves the bytes of a bound plan over a communicator.
///
/// Each process has at most `in_flight` chunks under way in each direction, `most_staged` of them
/// in staging memory. They start in the order of (number within the lane, step). Step `k` goes to
/// rank + k and comes from rank - k, so both ends of a chunk give it the same position. Therefore
/// the earliest unfinished chunk is started at both ends, in memory that no later chunk can take,
/// and the exchange cannot deadlock. A chunk that a rank passes on has a later number than the
/// chunk that brings its bytes, and starts when that chunk has arrived. Messages and rings share
/// the order (number, step, tree): each ring, and the messages of each direction, follow it.
///
/// \par Units staging is at most `2 * most_staged` chunks of `chunk_bytes` (8 MiB), and in each
///            direction at most the bytes that travel: see `staging_of`
class exchange {
public:
    /// \par Collective no: nothing is sent before `run`
    /// \pre errors of MPI end the job on `world`, see `mpi_group::duplicate_of`
    exchange(mpi_group const& world, bound_plan const& bound, process_transfers transfers);
    exchange(exchange const&) = delete;
    exchange& operator=(exchange const&) = delete;
    ~exchange();

    /// Moves everything. An error of a device ends the program, because other ranks wait for this
    /// one.
    ///
    /// \par Collective every rank of the group
    /// \throws error with errc::deadline, if the group's deadline passes
    void run();

    /// The bytes of memory in which chunks are packed and unpacked.
    index_t staging_bytes() const;

private:
    static constexpr std::size_t in_flight = detail::in_flight;

    /// Non-temporal stores if the arriving bytes exceed the caches.
    stores stores_for(process_transfers const& transfers) const;

    /// Gives a direction its chunks, and memory in which they are packed. The memory is on a device
    /// if MPI can use it and all tensors of this direction are on that device.
    void open(chunk_window& window, vector<lane> const& lanes, bool sent, stores write_mode);

    void move_all();

    /// Waits for the other ranks of the node. Meanwhile lets MPI make progress: other ranks may
    /// wait for messages of this rank.
    void meet();

    void run_local();

    /// Starts all chunks that can be started.
    void post();

    void receive(std::size_t slot);

    /// Sends a chunk that is packed.
    void send(std::size_t slot);

    /// Moves chunks through rings, and handles one finished request. False if there was nothing to
    /// do.
    bool advance();

    bool finish_request();

    mpi_group world_;
    bound_plan bound_;
    device_list devices_;
    copy_table copies_;
    vector<std::uint32_t> zeros_; ///< transfers that need no source
    vector<bound_copy> local_;    ///< copies in the process and on the node
    repeated_copies local_copies_;
    arrivals arrivals_;
    ring_lanes rings_{copies_, devices_, arrivals_};
    vector<shared_barrier> meetings_;
    chunk_window outgoing_;
    chunk_window incoming_;
    vector<MPI_Request> requests_ =
        vector<MPI_Request>(2 * in_flight, MPI_REQUEST_NULL); ///< receives, then sends
    int pending_ = 0;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/exchange.ipp>
#endif

#endif
