// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_SAFETENSORS_HPP
#define RESHARD_FORMAT_SAFETENSORS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/text_file.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// \file
/// safetensors: files with named tensors, and a JSON header before the data.

namespace reshard {

namespace detail {

/// The verdicts of a safetensors reader.
///
/// \par Source `SafeTensorError` of the reference reader (Hugging Face, Rust); `not_strict` is
///             ours, for content that this reader accepts although the format's specification
///             forbids it
enum class safetensors_fault {
    header_too_small,               ///< the file has fewer than 8 bytes
    header_too_large,               ///< the header is longer than the limit
    invalid_header_length,          ///< the header is longer than the file
    invalid_header,                 ///< the header is not UTF-8
    invalid_header_deserialization, ///< the header is not JSON, or has another form
    invalid_offset,                 ///< a tensor does not begin at the end of the previous one
    validation_overflow,            ///< a tensor's bits do not fit 64 bits
    misaligned_slice,               ///< a tensor's bits do not fill bytes
    tensor_invalid_info,            ///< shape and data type contradict the number of bytes
    metadata_incomplete_buffer,     ///< the tensors do not end at the end of the file
    not_strict,                     ///< against the specification, although readers accept it
};

/// The name in brackets at the end of each message: `InvalidOffset`.
constexpr std::string_view name(safetensors_fault fault) {
    constexpr std::string_view names[] = {
        "HeaderTooSmall",
        "HeaderTooLarge",
        "InvalidHeaderLength",
        "InvalidHeader",
        "InvalidHeaderDeserialization",
        "InvalidOffset",
        "ValidationOverflow",
        "MisalignedSlice",
        "TensorInvalidInfo",
        "MetadataIncompleteBuffer",
        "NotStrict",
    };
    return names[static_cast<std::size_t>(fault)];
}

} // namespace detail

/// Throws an error about a safetensors file: `file: text [Name]`.
[[noreturn]] RESHARD_DECL void fail(detail::safetensors_fault fault, std::string_view file,
                                    std::string const& text);

namespace detail {

/// The verdict at the end of a message of `fail` above; std::nullopt for any other message.
RESHARD_DECL std::optional<safetensors_fault> safetensors_fault_of(error const& thrown);

/// The extents of a tensor in a header. The extents of a matrix need no allocation.
using header_shape = short_vector<std::uint64_t, 2>;

/// One tensor of a safetensors file, as the header describes it.
///
/// \par Shape unlimited; extents may exceed `index_t`, because a header may have such extents
///            beside an extent of 0
/// \par Units `begin` and `end` in bytes from the beginning of the data
struct safetensors_entry {
    std::string name;
    data_type dtype{};
    header_shape shape;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    bool operator==(safetensors_entry const&) const = default;
};

/// The header of a safetensors file.
struct safetensors_header {
    vector<safetensors_entry> tensors;           ///< in the order of their data
    std::map<std::string, std::string> metadata; ///< the members of `__metadata__`
    std::uint64_t data_offset = 0; ///< the beginning of the data in the file, in bytes
    vector<std::string> warnings;  ///< warnings about content that the format forbids
    std::uint64_t json_digest = 0; ///< the digest of the bytes of the JSON
};

/// How strictly a header is checked.
enum class safetensors_mode {
    strict,     ///< as the specification of the format
    compatible, ///< as the reference reader; forbidden content causes a warning
};

/// How a header is read.
struct safetensors_options {
    safetensors_mode mode = safetensors_mode::strict;
    std::uint64_t max_header_bytes = 100'000'000;
    std::size_t max_depth = 127; ///< the deepest nesting of arrays and objects
    /// The format of the checkpoint, such as `torch_save`. Empty: it is detected.
    std::string from = {};
    /// Patterns of keys (`key_pattern`) for the tensors and values to open; empty: all. Other
    /// tensors and values are treated as absent (see `select_keys` for an exception).
    vector<std::string> only = {};
    vector<std::string> without = {}; ///< patterns of keys to exclude
    /// The path of a file that says which files in a directory belong to ranks, and how their
    /// tensors are cut (`read_rank_files`); empty if the files describe themselves.
    std::string source_layout = {};
    bool takes_values_alone = false; ///< accepts a selection of values without tensors
    /// Lists packed tensors (AWQ, GPTQ, NF4, MXFP4, ...) with their values in f32.
    bool dequantized = false;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.mode, self.max_header_bytes, self.max_depth, self.from, self.only, self.without,
              self.source_layout, self.takes_values_alone, self.dequantized);
    }
    static constexpr std::string_view member_names[] = {
        "mode",    "max_header_bytes", "max_depth",          "from",       "only",
        "without", "source_layout",    "takes_values_alone", "dequantized"};
};

} // namespace detail

/// The extents as text, such as `[2, 3]`.
RESHARD_DECL std::string to_string(std::span<std::uint64_t const> extents);

namespace detail {

/// `a * b`, or std::nullopt if it does not fit 64 bits.
constexpr std::optional<std::uint64_t> multiply(std::uint64_t a, std::uint64_t b) {
    if (a != 0 && b > std::numeric_limits<std::uint64_t>::max() / a)
        return std::nullopt;
    return a * b;
}

/// The number of bits of a tensor, or empty if a product from left to right does not fit 64 bits.
///
/// A zero only prevents the overflow of later products: [0, 2^64 - 1, 2] has 0 bits, and [2^64 - 1,
/// 2, 0] has too many.
constexpr std::optional<std::uint64_t> bit_count(header_shape const& shape, data_type dtype) {
    std::optional<std::uint64_t> product = 1;
    for (std::uint64_t const extent : shape)
        if (product)
            product = multiply(*product, extent);
    return product ? multiply(*product, static_cast<std::uint64_t>(bits(dtype))) : std::nullopt;
}

inline std::string quoted(safetensors_entry const& tensor) {
    return "tensor '" + tensor.name + "': ";
}

/// Refuses a tensor whose shape and data type contradict its number of bytes.
RESHARD_DECL void check_size(safetensors_entry const& tensor, std::string_view file);

/// Sorts the tensors by the positions of their data.
RESHARD_DECL void sort_by_data(vector<safetensors_entry>& tensors);

/// Refuses tensors that do not cover the data of the file exactly: in order, without gaps or
/// overlaps.
///
/// \pre       `tensors` is sorted by its data, and `data_offset <= file_bytes`
/// \throws    error with errc::corrupt_file that names the file, the tensor and both numbers
/// \par Source `Metadata::validate` of the reference reader, the same checks in the same order
RESHARD_DECL void check_data(safetensors_header const& header, std::uint64_t file_bytes,
                             std::string_view file);

/// A tensor to write.
struct safetensors_tensor {
    std::string name;
    data_type dtype{};
    index_vector shape;

    bool operator==(safetensors_tensor const&) const = default;
};

/// A safetensors file before its data.
struct safetensors_layout {
    std::string header;                ///< the first bytes of the file: the length, and the JSON
    vector<safetensors_entry> tensors; ///< in the order of their data
    vector<std::size_t> order;         ///< for each of `tensors`, its index in the argument
    std::uint64_t data_bytes = 0;

    std::uint64_t file_bytes() const { return header.size() + data_bytes; }
};

RESHARD_DECL void check_name(std::string_view name, std::string_view file);

/// The entry of a tensor whose data begins at `begin`.
RESHARD_DECL safetensors_entry entry_of(safetensors_tensor const& tensor, std::uint64_t begin,
                                        std::string_view file);

RESHARD_DECL std::string json_of(safetensors_entry const& tensor);

RESHARD_DECL std::string json_of(std::map<std::string, std::string> const& metadata);

/// The file that holds `tensors`, each row-major, one after the other without a gap.
///
/// \param      alignment the data begins at a multiple of `alignment` bytes; at least 8
/// \post       `parse_safetensors_header` accepts it in strict mode
/// \throws     error with errc::unsupported for a name or a size that the format does not support,
///             with errc::bad_layout for a name that occurs twice, with errc::limit_exceeded for a
///             header of more than 100 MB; it names `file`
/// \par Source the order, form and padding (to a multiple of 8 bytes) are as in the reference
///             writer; there metadata has no order, here it is sorted
RESHARD_DECL safetensors_layout plan_safetensors(std::span<safetensors_tensor const> tensors,
                                                 std::map<std::string, std::string> const& metadata,
                                                 std::string_view file, std::size_t alignment = 8);

/// The length of the JSON of a header, from the first eight bytes of a file.
///
/// \par Units  bytes
/// \throws     error with errc::corrupt_file for a length beyond the limit or the file
RESHARD_DECL std::uint64_t safetensors_json_bytes(std::span<std::byte const> start,
                                                  std::uint64_t file_bytes, std::string_view file,
                                                  safetensors_options const& options = {});

/// The header whose JSON is `json`, checked against the length of its file.
///
/// \pre    `json.size() + 8 <= file_bytes`
/// \throws error with errc::corrupt_file that names file, tensor and numbers; its text ends with
///         the name of a `safetensors_fault` in brackets
RESHARD_DECL safetensors_header parse_safetensors_json(std::string_view json,
                                                       std::uint64_t file_bytes,
                                                       std::string_view file,
                                                       safetensors_options const& options = {});

/// The header of a file of `file_bytes` bytes that begins with `start`.
///
/// \pre    `start` holds the whole header: 8 + `safetensors_json_bytes` bytes, or all bytes if the
///         file is shorter
/// \throws see `parse_safetensors_json`
RESHARD_DECL safetensors_header parse_safetensors_header(std::span<std::byte const> start,
                                                         std::uint64_t file_bytes,
                                                         std::string_view file,
                                                         safetensors_options const& options = {});

/// The header of a file in the file system; nothing after it is read.
///
/// \throws error with errc::missing_file or errc::io; see also `parse_safetensors_json`
RESHARD_DECL safetensors_header read_safetensors_header(std::filesystem::path const& path,
                                                        safetensors_options const& options = {});

/// The header of an opened file, which is called `name` in messages. Nothing after the header is
/// read.
///
/// \throws error with errc::io; see also `parse_safetensors_json`
RESHARD_DECL safetensors_header read_safetensors_header(open_file& file, std::string_view name,
                                                        safetensors_options const& options = {});

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/safetensors.ipp>
#endif

#endif
