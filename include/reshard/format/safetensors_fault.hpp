// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_SAFETENSORS_FAULT_HPP
#define RESHARD_FORMAT_SAFETENSORS_FAULT_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// What can be wrong with a safetensors file, under the names that its users know.

namespace reshard {

namespace detail {

/// The verdicts of a safetensors reader.
///
/// \par Source `SafeTensorError` of the reference reader (Hugging Face, Rust); `not_strict` is
///             ours, for what that reader accepts and the text of the format does not
enum class safetensors_fault {
    header_too_small,               ///< the file has fewer than 8 bytes
    header_too_large,               ///< the header is longer than the limit
    invalid_header_length,          ///< the header is longer than the file
    invalid_header,                 ///< the header is not UTF-8
    invalid_header_deserialization, ///< the header is not JSON, or not the JSON of a header
    invalid_offset,                 ///< a tensor does not begin where the one before it ends
    validation_overflow,            ///< a tensor's bits do not fit 64 bits
    misaligned_slice,               ///< a tensor's bits do not fill bytes
    tensor_invalid_info,            ///< shape and data type ask for other than the bytes there are
    metadata_incomplete_buffer,     ///< the tensors do not end where the file ends
    not_strict,                     ///< against the text of the format, though readers accept it
};

/// The name that stands in brackets at the end of each message: `InvalidOffset`.
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

/// Throws what is wrong with a safetensors file: `file: text [Name]`.
[[noreturn]] RESHARD_DECL void fail(detail::safetensors_fault fault, std::string_view file,
                                    std::string const& text);

namespace detail {

/// The verdict that a message of `fail` above ends with, or nothing for any other message.
RESHARD_DECL std::optional<safetensors_fault> safetensors_fault_of(error const& thrown);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/safetensors_fault.ipp>
#endif

#endif
