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
/// The shared memory by which a source and its readers communicate: which version is in which of
/// two buffers, and which readers read it.

namespace reshard::detail {

/// A place for a reader. Zeros are a free one.
struct reader_seat {
    alignas(64) std::atomic<std::uint64_t> process = 0; ///< its number; 0: free
    std::atomic<std::uint64_t> started = 0;
    std::atomic<std::uint64_t> space = 0;
    std::atomic<std::uint64_t> reads = 0; ///< the version that it reads now; 0: none
    std::atomic<std::uint64_t> has = 0;   ///< the last one that it has read
};

/// The shared memory; zeros are a new one.
///
/// Version `v` is in buffer `v % 2`, so that the version before stays complete while `v` is
/// written.
struct control_block {
    static constexpr std::size_t most_seats = 256;

    alignas(64) std::atomic<std::uint64_t> token = 0;   ///< of the source
    std::atomic<std::uint64_t> is_closed = 0;           ///< the source has ended as it should
    alignas(64) std::atomic<std::uint64_t> newest = 0;  ///< complete version; 0: none yet
    alignas(64) std::atomic<std::uint64_t> arrived = 0; ///< ranks that have written theirs
    std::array<std::atomic<std::uint64_t>, 2> holds{};  ///< by buffer; 0 while it is written
    /// The highest version that readers had when they left, times 2^16, plus the number of these
    /// readers.
    std::atomic<std::uint64_t> left = 0;
    std::array<reader_seat, most_seats> seats{};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "atomics are shared by processes");

/// The highest number of a version: `control_block::left` stores it in 48 bits.
inline constexpr std::uint64_t last_version = (std::uint64_t{1} << 48) - 1;

/// The number after a version's.
///
/// \throws error with errc::usage after the last one
RESHARD_DECL std::uint64_t version_behind(std::uint64_t version);

/// The block that lies in memory of zeros, or of another process.
///
/// \pre the memory is aligned to a cache line, and large enough
RESHARD_DECL control_block& control_in(std::byte* memory);

/// The result of one look at the readers.
struct readers_seen {
    std::size_t count = 0;
    std::uint64_t slowest = 0;        ///< the least that one of them has
    std::size_t left_with_newest = 0; ///< those that have gone since, and had the newest version
};

/// The readers. Those that have ended lose their seats.
RESHARD_DECL readers_seen look_at_readers(control_block& control);

/// Makes the buffer of `version` ready to be written, when nobody reads its old content, or when
/// the time is over: then readers will see that it was overwritten.
///
/// \return readers that were not waited for any longer
/// \pre    `version` is the one after the newest
RESHARD_DECL std::size_t begin_version(control_block& control, std::uint64_t version,
                                       double seconds);

/// Says that a rank has written its part; the last one completes the version.
RESHARD_DECL void finish_version(control_block& control, std::uint64_t version,
                                 std::uint64_t ranks);

/// True if a buffer still holds the data that was read from it.
RESHARD_DECL bool is_intact(control_block const& control, std::uint64_t version);

/// A taken seat. The destructor gives it back. If all seats are taken, it is empty: then the source
/// does not wait for this reader, as if the reader were late.
class taken_seat {
public:
    taken_seat() = default;
    explicit taken_seat(control_block& control);
    taken_seat(taken_seat&& seat) noexcept;
    taken_seat& operator=(taken_seat&& seat) noexcept;
    ~taken_seat();

    /// The newest version, which the source does not overwrite before `end_reading`, or its
    /// deadline; 0: there is none.
    std::uint64_t begin_reading();

    void end_reading();

    /// Says that all of a version was read.
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
