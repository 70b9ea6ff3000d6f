// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_CHUNK_DIGESTS_HPP
#define RESHARD_FORMAT_CHUNK_DIGESTS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/core/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// \file
/// The digests of a file's tensors, chunk by chunk. They are stored in the file's `__metadata__`.

namespace reshard::detail {

/// The key in `__metadata__` for the id of the save that wrote the file.
inline constexpr std::string_view save_id_name = "RESHARD_SAVE";

/// The save id in a file whose save is not finished.
inline constexpr std::string_view unknown_save_id = "00000000000000000000000000000000";

/// The key in `__metadata__` for the digests of the file's tensors.
inline constexpr std::string_view chunk_digests_name = "RESHARD_DIGESTS";

/// The key in `__metadata__` for the digest of the file's header. The digest is computed with zeros
/// in place of its own digits. The record has digests of headers too; this digest checks a file
/// that is read alone.
inline constexpr std::string_view header_digest_name = "RESHARD_HEADER";

/// The digest of some bytes.
///
/// \par Source XXH3 of xxHash, 64 bits, without a seed: it detects faults, not attacks
RESHARD_DECL std::uint64_t digest_of_bytes(std::span<std::byte const> bytes);

/// The digest of bytes that arrive piece by piece.
class running_digest {
public:
    RESHARD_DECL running_digest();
    RESHARD_DECL ~running_digest();
    running_digest(running_digest const&) = delete;
    running_digest& operator=(running_digest const&) = delete;

    RESHARD_DECL void add(std::span<std::byte const> bytes);

    /// The digest of the bytes that were added since the last call.
    RESHARD_DECL std::uint64_t take();

private:
    void* state_;
};

/// The 128-bit digest of the concatenated texts, as 32 hexadecimal digits.
RESHARD_DECL std::string long_digest_text_of(std::span<std::string_view const> texts);

/// The digests of the tensors of one file.
///
/// Chunk `i` of a tensor begins at byte `i * chunk_bytes` of the tensor. The last chunk may be
/// shorter. A tensor without bytes has no chunk.
struct chunk_digests {
    /// \par Units bytes
    static constexpr std::uint64_t usual_chunk_bytes = std::uint64_t{1} << 20;

    std::uint64_t chunk_bytes = usual_chunk_bytes;
    vector<vector<std::uint64_t>> tensors; ///< the digests of each tensor, in the order of the data

    bool operator==(chunk_digests const&) const = default;
};

/// The number of chunks of a tensor of `bytes` bytes.
constexpr std::uint64_t chunk_count(std::uint64_t bytes, std::uint64_t chunk_size) {
    return bytes / chunk_size + (bytes % chunk_size != 0);
}

/// The digests of the chunks of one tensor.
RESHARD_DECL vector<std::uint64_t> digests_of(std::span<std::byte const> tensor,
                                              std::uint64_t chunk_size);

/// The text in the file: `1048576 DIGESTS,DIGESTS`, with 16 hexadecimal digits per chunk. Its
/// length depends only on the sizes of the tensors.
RESHARD_DECL std::string to_text(chunk_digests const& digests);

/// The text for tensors of these sizes with zeros for all digits. It has the same length.
///
/// \par Units bytes
RESHARD_DECL std::string
unknown_digests(std::span<std::uint64_t const> tensor_bytes,
                std::uint64_t chunk_size = chunk_digests::usual_chunk_bytes);

/// The digests of one tensor. The digest of a tensor of one chunk needs no allocation.
using digest_list = short_vector<std::uint64_t, 1>;

/// Reads the digests of the tensors of a file from their text, one tensor after the other.
///
/// Refers to the text and to the name of the file.
class digest_reader {
public:
    /// \throws error with errc::corrupt_file that names `file`; all other functions throw it too
    RESHARD_DECL digest_reader(std::string_view text, std::string_view file);

    std::uint64_t chunk_bytes() const { return chunk_bytes_; }

    /// The digests of the next tensor.
    ///
    /// \par Units bytes
    RESHARD_DECL digest_list next(std::uint64_t tensor_bytes);

    RESHARD_DECL void check_end() const;

private:
    std::uint64_t number(int base, std::size_t digits);
    [[noreturn]] void refuse() const;

    std::string_view left_;
    std::string_view file_;
    std::uint64_t chunk_bytes_ = 0;
    char separator_ = ' ';
};

/// Parses a text of digests, for tensors of these sizes.
///
/// \par Units  bytes
/// \throws error with errc::corrupt_file that names `file`
RESHARD_DECL chunk_digests parse_digests(std::string_view text,
                                         std::span<std::uint64_t const> tensor_bytes,
                                         std::string_view file);

/// The correct digest of the header with this JSON, for `header_digest_name`; std::nullopt if the
/// header does not have that name.
RESHARD_DECL std::optional<std::string> own_digest_of(std::string_view json);

/// Puts the digest of `own_digest_of` into the header of a file, once everything else in the header
/// is final.
///
/// \pre `header` has zeros in place of the digest
RESHARD_DECL void set_own_digest(std::span<char> header);

/// Replaces a value in the metadata of a header by a value of the same length.
///
/// \pre the metadata has the name, and the name needs no escapes
RESHARD_DECL void set_metadata(std::span<char> header, std::string_view name,
                               std::string_view value);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/chunk_digests.ipp>
#endif

#endif
