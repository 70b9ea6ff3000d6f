// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_SAFETENSORS_READER_HPP
#define RESHARD_FORMAT_SAFETENSORS_READER_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/safetensors_header.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

/// \file
/// Reads the header of a safetensors file.

namespace reshard::detail {

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
/// \pre    `start` holds the whole header: 8 + `safetensors_json_bytes` bytes, or all of a shorter
///         file
/// \throws see `parse_safetensors_json`
RESHARD_DECL safetensors_header parse_safetensors_header(std::span<std::byte const> start,
                                                         std::uint64_t file_bytes,
                                                         std::string_view file,
                                                         safetensors_options const& options = {});

/// The header of a file; nothing behind it is read.
///
/// \throws error with errc::missing_file or errc::io; see also `parse_safetensors_json`
RESHARD_DECL safetensors_header read_safetensors_header(std::filesystem::path const& path,
                                                        safetensors_options const& options = {});

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/safetensors_reader.ipp>
#endif

#endif
