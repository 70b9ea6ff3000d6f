// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_SAFETENSORS_READER_IPP
#define RESHARD_FORMAT_IMPL_SAFETENSORS_READER_IPP

#include <reshard/format/safetensors_reader.hpp>

#include <reshard/format/safetensors_events.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/format/utf8.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace reshard::detail {

/// The number in the first eight bytes, the lowest first.
inline std::uint64_t little_endian(std::span<std::byte const> bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 8; i-- > 0;)
        value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    return value;
}

/// What stands before and behind the object of a header against the text of the format, or nothing.
inline std::string find_bad_padding(std::string_view json) {
    if (!json.starts_with('{'))
        return "the header does not begin with '{'";
    std::size_t const end = json.find_last_of('}');
    if (json.find_first_not_of(' ', end + 1) != json.npos)
        return "the header is padded with something other than spaces";
    return {};
}

/// Refuses, in strict mode, what the reference reader accepts and the text of the format does not.
inline void check_strict(safetensors_header const& header, safetensors_mode mode,
                         std::string_view file) {
    if (mode == safetensors_mode::strict && !header.warnings.empty())
        fail(safetensors_fault::not_strict, file,
             header.warnings.front() + ", which only the compatible mode accepts");
}

RESHARD_DECL std::uint64_t safetensors_json_bytes(std::span<std::byte const> start,
                                                  std::uint64_t file_bytes, std::string_view file,
                                                  safetensors_options const& options) {
    if (file_bytes < 8 || start.size() < 8)
        fail(safetensors_fault::header_too_small, file,
             "the file has " + std::to_string(file_bytes) +
                 " bytes; a safetensors file has at least 8");
    std::uint64_t const bytes = little_endian(start);
    if (bytes > options.max_header_bytes)
        fail(safetensors_fault::header_too_large, file,
             "the header claims " + std::to_string(bytes) + " bytes; the limit is " +
                 std::to_string(options.max_header_bytes));
    if (bytes > file_bytes - 8)
        fail(safetensors_fault::invalid_header_length, file,
             "the header claims " + std::to_string(bytes) + " bytes, but the file has only " +
                 std::to_string(file_bytes - 8) + " after the first 8");
    return bytes;
}

RESHARD_DECL safetensors_header parse_safetensors_json(std::string_view json,
                                                       std::uint64_t file_bytes,
                                                       std::string_view file,
                                                       safetensors_options const& options) {
    BOOST_ASSERT(file_bytes >= 8 && json.size() <= file_bytes - 8);
    if (std::size_t const place = find_invalid_utf8(json); place != json.size())
        fail(safetensors_fault::invalid_header, file,
             "byte " + std::to_string(place) + " of the header is not UTF-8");
    safetensors_events events;
    if (auto const fault = send_json_events(json, events, options.max_depth))
        fail(safetensors_fault::invalid_header_deserialization, file,
             "byte " + std::to_string(fault->position) + " of the header: " + fault->text);
    safetensors_header header{std::move(events.tensors), std::move(events.metadata),
                              8 + json.size(), std::move(events.warnings)};
    sort_by_data(header.tensors);
    check_data(header, file_bytes, file);
    if (std::string problem = find_bad_padding(json); !problem.empty())
        header.warnings.push_back(std::move(problem));
    check_strict(header, options.mode, file);
    return header;
}

RESHARD_DECL safetensors_header parse_safetensors_header(std::span<std::byte const> start,
                                                         std::uint64_t file_bytes,
                                                         std::string_view file,
                                                         safetensors_options const& options) {
    std::uint64_t const bytes = safetensors_json_bytes(start, file_bytes, file, options);
    BOOST_ASSERT(start.size() - 8 >= bytes);
    return parse_safetensors_json(
        {reinterpret_cast<char const*>(start.data()) + 8, static_cast<std::size_t>(bytes)},
        file_bytes, file, options);
}

RESHARD_DECL safetensors_header read_safetensors_header(std::filesystem::path const& path,
                                                        safetensors_options const& options) {
    open_file file = open_to_read(path);
    std::string const name = path.string();
    std::string const start = read_bytes(file, std::min<std::uint64_t>(file.bytes, 8), name);
    auto const bytes =
        safetensors_json_bytes(std::as_bytes(std::span(start)), file.bytes, name, options);
    return parse_safetensors_json(read_bytes(file, bytes, name), file.bytes, name, options);
}

} // namespace reshard::detail

#endif
