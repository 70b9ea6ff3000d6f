// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_CONTROL_HPP
#define RESHARD_BRIDGE_CONTROL_HPP

#include <reshard/core/config.hpp>
#include <reshard/os/process.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

/// \file
/// The shared memory by which a source and its readers communicate: the version in each of two
/// buffers, and the readers of each version.

namespace reshard::detail {

/// A seat for a reader. If all its bytes are zero, it is free.
struct reader_seat {
    alignas(64) std::atomic<std::uint64_t> process = 0; ///< the reader's number; 0: free
    std::atomic<std::uint64_t> started = 0;
    std::atomic<std::uint64_t> space = 0;
    std::atomic<std::uint64_t> reads = 0; ///< the version that it reads now; 0: none
    std::atomic<std::uint64_t> has = 0;   ///< the last version that it has read
};

/// The shared memory. A new block has only zeros.
///
/// Version `v` is in buffer `v % 2`, so version `v - 1` stays complete while `v` is written.
struct control_block {
    static constexpr std::size_t most_seats = 256;

    alignas(64) std::atomic<std::uint64_t> token = 0;   ///< the source's token
    std::atomic<std::uint64_t> is_closed = 0;           ///< 1 if the source ended normally
    alignas(64) std::atomic<std::uint64_t> newest = 0;  ///< the newest complete version; 0: none
    alignas(64) std::atomic<std::uint64_t> arrived = 0; ///< ranks that have written their shards
    std::array<std::atomic<std::uint64_t>, 2> holds{};  ///< by buffer, the version; 0: not complete
    /// The highest version that readers had when they left, times 2^16, plus the number of these
    /// readers.
    std::atomic<std::uint64_t> left = 0;
    std::array<reader_seat, most_seats> seats{};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "atomics are shared by processes");

/// The highest version number: `control_block::left` stores it in 48 bits.
inline constexpr std::uint64_t last_version = (std::uint64_t{1} << 48) - 1;

/// The number of the next version.
///
/// \throws error with errc::usage after `last_version`
RESHARD_DECL std::uint64_t version_behind(std::uint64_t version);

/// The block in `memory`, which has only zeros or is already in use by another process.
///
/// \pre the memory is aligned to a cache line, and large enough
RESHARD_DECL control_block& control_in(std::byte* memory);

/// The readers at one moment.
struct readers_seen {
    std::size_t count = 0;
    std::uint64_t slowest = 0;        ///< the lowest version that any of them has
    std::size_t left_with_newest = 0; ///< readers that left with the newest version
};

/// Counts the readers. Frees the seats of readers that have ended.
RESHARD_DECL readers_seen look_at_readers(control_block& control);

/// Prepares the buffer of `version` to be written. Waits until nobody reads its old content, or
/// until the time is over: late readers then see that it was overwritten.
///
/// \return the number of late readers
/// \pre    `version` is the version after the newest
RESHARD_DECL std::size_t begin_version(control_block& control, std::uint64_t version,
                                       double seconds);

/// Records that a rank has written its shards. The last rank completes the version.
RESHARD_DECL void finish_version(control_block& control, std::uint64_t version,
                                 std::uint64_t ranks);

/// True if the buffer of `version` still has this version: then the data read from it is valid.
RESHARD_DECL bool is_intact(control_block const& control, std::uint64_t version);

/// The seat of a reader. The destructor frees it. If all seats were taken, it is empty, and the
/// source does not wait for this reader.
class taken_seat {
public:
    taken_seat() = default;
    explicit taken_seat(control_block& control);
    taken_seat(taken_seat&& seat) noexcept;
    taken_seat& operator=(taken_seat&& seat) noexcept;
    ~taken_seat();

    /// Returns the newest version; 0: there is none. The source does not overwrite this version
    /// before `end_reading`, or before the source's deadline.
    std::uint64_t begin_reading();

    void end_reading();

    /// Records that the reader has read a whole version.
    void set_has(std::uint64_t version);

private:
    control_block* control_ = nullptr;
    reader_seat* seat_ = nullptr;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bridge/impl/control.ipp>
#endif

#endif
