// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_CHUNK_READER_HPP
#define RESHARD_STORAGE_CHUNK_READER_HPP

#include <reshard/copy/cut_loop.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/os/file_bytes.hpp>
#include <reshard/storage/checkpoint.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

/// \file
/// Reads the bytes of a checkpoint, and compares them with the saved digests.

namespace reshard {

class device;

} // namespace reshard

namespace reshard::detail {

/// A chunk whose bytes differ from the saved bytes.
///
/// \par Units `begin` and `end` in bytes of the file
struct bad_chunk {
    std::string file;
    std::string key;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t expected = 0; ///< the saved digest
    std::uint64_t found = 0;    ///< the digest of the actual bytes
    std::string stored_in{};    ///< for a delta: the files that contain the bytes

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.file, self.key, self.begin, self.end, self.expected, self.found, self.stored_in);
    }
};

/// The message about a chunk; it names the tensor, the bytes and both digests.
RESHARD_DECL std::string describe(bad_chunk const& chunk);

/// A run of a shard's elements that begins and ends at whole bytes, and its bytes.
struct element_run {
    index_t first = 0;
    byte_run bytes;
};

RESHARD_DECL element_run whole_bytes(loop_span const& elements, data_type dtype);

/// The size of a window: the part of a shard that a loop processes at a time. A window consists of
/// whole elements, whole bytes and whole chunks.
struct shard_window {
    index_t elements = 0;
    std::uint64_t bytes = 0;
};

/// The largest window of at most `wanted_bytes`, but at least one chunk.
RESHARD_DECL shard_window window_of(data_type dtype, std::uint64_t chunk_size,
                                    std::uint64_t wanted_bytes);

/// Reads shards of a checkpoint, one run of bytes at a time. It keeps the last run in memory.
class chunk_reader {
public:
    /// \param verify if true, chunks with digests are read whole, and compared with the digests
    /// \param near   a device to which the bytes go, which provides the memory; may be null
    /// \pre   `source` and `near` outlive this object
    RESHARD_DECL chunk_reader(checkpoint const& source, bool verify, device* near = nullptr);

    /// The bytes of a run of a shard. The next call reuses their memory; if `keeps_bytes`, the call
    /// after it does.
    ///
    /// \throws error with errc::corrupt_file if a chunk differs (see `describe`), or if another
    ///         file has replaced the opened file; with errc::io if the system cannot read the file
    RESHARD_DECL std::byte const* read(shard_place shard_place, byte_run run);

    /// Whether the next call of `read` leaves the bytes of the last call as they are.
    bool keeps_bytes() const { return near_ && held_; }

    /// The bytes that `read` reads for a run: whole chunks if they are verified.
    RESHARD_DECL byte_run whole_chunks(shard_place shard_place, byte_run run) const;

    /// Reads whole chunks, as `read` does, into the caller's memory.
    RESHARD_DECL void read_to(std::byte* target, shard_place shard_place, byte_run chunks);

    /// The chunks of a shard whose bytes differ from their digests.
    RESHARD_DECL vector<bad_chunk> find_bad(shard_place shard_place, progress_count& count);

    /// Refuses a source if another process has written to files that were read without
    /// verification.
    ///
    /// \throws error with errc::corrupt_file, naming the file
    RESHARD_DECL void check_unchanged() const;

    checkpoint const& source() const { return source_; }
    checkpoint_metadata const& metadata() const { return source_.metadata(); }

    /// True if this run can be read without a copy: the system has the file's pages in memory, and
    /// `read` returns their address. Takes a lease on the file (see `leased_pages`).
    RESHARD_DECL bool sees(shard_place shard_place, byte_run run);

    /// Gives all leases back.
    void close_pages() { pages_.clear(); }

    /// The number of bytes read.
    std::uint64_t bytes_read() const { return bytes_read_; }

private:
    checkpoint_shard const& shard_at(shard_place shard_place) const;
    bool is_verified(checkpoint_shard const& shard) const;
    std::uint64_t chunk_bytes_of(checkpoint_shard const& shard) const;
    file_store::file const& file(holder_t number);

    struct read_buffer {
        std::shared_ptr<std::byte[]> memory = nullptr;
        std::size_t bytes = 0;
    };

    /// Memory for at least that many bytes.
    std::byte* reserve(std::size_t bytes);

    /// The first byte of a mapped shard, or null.
    std::byte const* mapped(shard_place shard_place);

    /// The run in the system's pages of the file, or null.
    std::byte const* find_in_pages(shard_place shard_place, byte_run run);

    /// Reads a chunk into `target` unless it is mapped, and compares it with its digest.
    std::optional<bad_chunk> read_chunk(shard_place shard_place, std::uint64_t number,
                                        std::byte* target);

    checkpoint const& source_;
    bool verify_;
    running_digest digest_;
    vector<bool> unverified_;                ///< by file: true if bytes were not verified
    std::unique_ptr<file_store::file> open_; ///< if the checkpoint does not keep the file
    holder_t open_number_ = 0;
    std::map<holder_t, leased_pages> pages_; ///< by file
    std::optional<holder_t> seen_number_;    ///< the last file of `find_in_pages`
    device* near_;
    read_buffer buffer_;
    read_buffer other_;                  ///< near a device, the buffers take turns
    std::optional<shard_place> queried_; ///< the shard of the last call of `mapped`
    std::byte const* mapped_ = nullptr;  ///< its first byte, or null
    std::optional<shard_place> held_;
    byte_run held_run_;
    std::byte const* held_bytes_ = nullptr;
    std::uint64_t bytes_read_ = 0;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/chunk_reader.ipp>
#endif

#endif
