// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_SAFETENSORS_IPP
#define RESHARD_FORMAT_IMPL_SAFETENSORS_IPP

#include <reshard/format/safetensors.hpp>

#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/impl/safetensors_events.ipp>
#include <reshard/format/json_document.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/os/prefaulted_memory.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>

namespace reshard {

namespace detail {

/// The text with `\0` in place of each zero byte, because what() would end at a zero byte.
inline std::string without_zero_bytes(std::string_view text) {
    std::string result;
    for (char const character : text)
        result += character == '\0' ? std::string("\\0") : std::string(1, character);
    return result;
}

} // namespace detail

RESHARD_DECL void fail(detail::safetensors_fault fault, std::string_view file,
                       std::string const& text) {
    fail(errc::corrupt_file, file, ": ", detail::without_zero_bytes(text), " [", fault, "]");
}

namespace detail {

RESHARD_DECL std::optional<safetensors_fault> safetensors_fault_of(error const& thrown) {
    std::string_view const text = thrown.what();
    for (int i = 0; i <= static_cast<int>(safetensors_fault::not_strict); ++i) {
        auto const fault = static_cast<safetensors_fault>(i);
        if (text.ends_with("[" + std::string(name(fault)) + "]"))
            return fault;
    }
    return std::nullopt;
}

} // namespace detail

RESHARD_DECL std::string to_string(std::span<std::uint64_t const> extents) {
    constexpr std::size_t most = 16; // twice the axes of any supported tensor
    std::string text = "[";
    for (std::uint64_t const extent : extents.first(std::min(most, extents.size())))
        text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
    if (extents.size() > most)
        text += ", and " + std::to_string(extents.size() - most) + " more";
    return text + "]";
}

namespace detail {

RESHARD_DECL void check_size(safetensors_entry const& tensor, std::string_view file) {
    auto const bit_total = bit_count(tensor.shape, tensor.dtype);
    if (bit_total && *bit_total % 8 == 0 && tensor.end - tensor.begin == *bit_total / 8)
        return;
    std::string const noun =
        "shape " + to_string(tensor.shape) + " of " + std::string(code(tensor.dtype));
    if (!bit_total)
        fail(safetensors_fault::validation_overflow, file,
             words(quoted(tensor), "the bits of ", noun, " do not fit in 64 bits"));
    if (*bit_total % 8 != 0)
        fail(safetensors_fault::misaligned_slice, file,
             words(quoted(tensor), noun, " has ", *bit_total,
                   " bits, which do not fill whole bytes"));
    fail(safetensors_fault::tensor_invalid_info, file,
         words(quoted(tensor), noun, " needs ", *bit_total / 8,
               " bytes, but its data offsets hold ", tensor.end - tensor.begin));
}

/// Refuses a tensor that does not begin at `expected`.
inline void check_place(safetensors_entry const& tensor, std::uint64_t expected,
                        std::string_view file) {
    if (tensor.begin != expected)
        fail(safetensors_fault::invalid_offset, file,
             words(quoted(tensor), "its data begins at byte ", tensor.begin,
                   ", but the data before it ends at byte ", expected));
    if (tensor.end < tensor.begin)
        fail(safetensors_fault::invalid_offset, file,
             words(quoted(tensor), "its data begins at byte ", tensor.begin,
                   " but ends before that, at byte ", tensor.end));
}

RESHARD_DECL void sort_by_data(vector<safetensors_entry>& tensors) {
    auto const before = [](safetensors_entry const& a, safetensors_entry const& b) {
        if (a.begin != b.begin)
            return a.begin < b.begin;
        return a.end != b.end ? a.end < b.end : a.name < b.name;
    };
    if (!std::is_sorted(tensors.begin(), tensors.end(), before)) // nearly all writers sort them
        std::sort(tensors.begin(), tensors.end(), before);
}

RESHARD_DECL void check_data(safetensors_header const& header, std::uint64_t file_bytes,
                             std::string_view file) {
    std::uint64_t end = 0;
    for (safetensors_entry const& tensor : header.tensors) {
        check_place(tensor, end, file);
        check_size(tensor, file);
        end = tensor.end;
    }
    std::uint64_t const there = file_bytes - header.data_offset;
    if (end != there)
        fail(safetensors_fault::metadata_incomplete_buffer, file,
             words("the tensors end at byte ", end, " of the data, but the file has ", there,
                   " bytes of data", end > there ? "; was it cut short?" : ""));
}

/// Sorts by alignment, the largest first, then by name. So each tensor is aligned, and equal
/// contents give equal files.
inline vector<std::size_t> writing_order(std::span<safetensors_tensor const> tensors) {
    vector<std::size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return tensors[a].dtype != tensors[b].dtype ? tensors[a].dtype > tensors[b].dtype
                                                    : tensors[a].name < tensors[b].name;
    });
    return order;
}

inline void check_utf8(std::string_view text, std::string_view file) {
    if (std::size_t const index = find_invalid_utf8(text); index != text.size())
        fail(errc::unsupported, file, ": byte ", index, " of '", text, "' is not UTF-8");
}

RESHARD_DECL void check_name(std::string_view name, std::string_view file) {
    if (name == "__metadata__")
        fail(errc::unsupported, file, ": no tensor may be named '__metadata__'");
    check_utf8(name, file);
}

RESHARD_DECL safetensors_entry entry_of(safetensors_tensor const& tensor, std::uint64_t begin,
                                        std::string_view file) {
    auto const describe = [&] {
        return words(file, ": tensor '", tensor.name, "': shape ", tensor.shape, " of ",
                     code(tensor.dtype));
    };
    if (tensor.dtype == data_type::c128)
        fail(errc::unsupported, file, ": tensor '", tensor.name,
             "': safetensors has no data type for elements of complex128; cast it in the program, "
             "as in `",
             tensor.name, " -> ", tensor.name,
             ", dtype=\"complex64\"`, or write torch_dcp, torch_save or npz");
    safetensors_entry entry{tensor.name, tensor.dtype, {}, begin, begin};
    for (index_t const extent : tensor.shape)
        entry.shape.push_back(static_cast<std::uint64_t>(extent));
    auto const bit_total = bit_count(entry.shape, entry.dtype);
    if (!bit_total || *bit_total / 8 > std::numeric_limits<std::uint64_t>::max() - begin)
        fail(errc::overflow, describe(), " has a number of bits that does not fit in 64 bits");
    if (*bit_total % 8 != 0)
        fail(errc::unsupported, describe(), " has ", *bit_total,
             " bits, which do not fill whole bytes");
    entry.end += *bit_total / 8;
    return entry;
}

inline void check_names_differ(vector<safetensors_entry> const& tensors, std::string_view file) {
    vector<std::string_view> names;
    names.reserve(tensors.size());
    for (safetensors_entry const& tensor : tensors)
        names.push_back(tensor.name);
    std::sort(names.begin(), names.end());
    auto const twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end())
        fail(errc::bad_layout, file, ": tensor '", *twice, "' would occur twice in one file");
}

RESHARD_DECL std::string json_of(safetensors_entry const& tensor) {
    std::uint64_t const offsets[] = {tensor.begin, tensor.end};
    return words(json_quoted(tensor.name), ":{\"dtype\":\"", code(tensor.dtype),
                 "\",\"shape\":", json_list(tensor.shape), ",\"data_offsets\":", json_list(offsets),
                 "}");
}

RESHARD_DECL std::string json_of(std::map<std::string, std::string> const& metadata) {
    std::string text;
    for (auto const& [key, value] : metadata)
        text += (text.empty() ? "" : ",") + json_quoted(key) + ":" + json_quoted(value);
    return "\"__metadata__\":{" + text + "}";
}

inline std::string little_endian_text(std::uint64_t value) {
    std::string text;
    for (int i = 0; i < 8; ++i, value >>= 8)
        text += static_cast<char>(static_cast<unsigned char>(value & 0xFF));
    return text;
}

/// The first bytes of a file: the length of the JSON, and the JSON.
inline std::string header_text(vector<safetensors_entry> const& tensors,
                               std::map<std::string, std::string> const& metadata,
                               std::size_t alignment) {
    std::string text(8, ' ');
    text += "{";
    if (!metadata.empty())
        text += json_of(metadata);
    for (safetensors_entry const& tensor : tensors) {
        text += text.size() > 9 ? "," : "";
        text += json_of(tensor);
    }
    text += "}";
    text.append((alignment - text.size() % alignment) % alignment, ' ');
    return text.replace(0, 8, little_endian_text(text.size() - 8));
}

RESHARD_DECL safetensors_layout plan_safetensors(std::span<safetensors_tensor const> tensors,
                                                 std::map<std::string, std::string> const& metadata,
                                                 std::string_view file, std::size_t alignment) {
    safetensors_layout result;
    result.order = writing_order(tensors);
    result.tensors.reserve(tensors.size());
    for (std::size_t const i : result.order) {
        check_name(tensors[i].name, file);
        result.tensors.push_back(entry_of(tensors[i], result.data_bytes, file));
        result.data_bytes = result.tensors.back().end;
    }
    for (auto const& [key, value] : metadata)
        check_utf8(key + value, file);
    check_names_differ(result.tensors, file);
    result.header = header_text(result.tensors, metadata, alignment);
    std::size_t const json_bytes = result.header.size() - 8;
    if (json_bytes > safetensors_options{}.max_header_bytes)
        fail(errc::limit_exceeded, file, ": the header would have ", json_bytes,
             " bytes; readers accept at most ", safetensors_options{}.max_header_bytes);
    return result;
}

/// The number in the first eight bytes, lowest byte first.
inline std::uint64_t little_endian(std::span<std::byte const> bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 8; i-- > 0;)
        value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    return value;
}

/// Describes text before or after the object of a header, which the format forbids; empty if there
/// is none.
inline std::string find_bad_padding(std::string_view json) {
    if (!json.starts_with('{'))
        return "the header does not begin with '{'";
    std::size_t const end = json.find_last_of('}');
    if (json.find_first_not_of(' ', end + 1) != json.npos)
        return "the header is padded with something other than spaces";
    return {};
}

/// Refuses, in strict mode, headers that the reference reader accepts although the format forbids
/// them.
inline void check_strict(safetensors_header const& header, safetensors_mode mode,
                         std::string_view file) {
    if (mode == safetensors_mode::strict && !header.warnings.empty())
        fail(safetensors_fault::not_strict, file,
             words(header.warnings.front(),
                   ", which only the compatible mode (--compatible) accepts"));
}

RESHARD_DECL std::uint64_t safetensors_json_bytes(std::span<std::byte const> start,
                                                  std::uint64_t file_bytes, std::string_view file,
                                                  safetensors_options const& options) {
    if (file_bytes < 8 || start.size() < 8)
        fail(safetensors_fault::header_too_small, file,
             words("the file has ", file_bytes, " bytes; a safetensors file has at least 8"));
    std::uint64_t const bytes = little_endian(start);
    if (bytes > options.max_header_bytes)
        fail(safetensors_fault::header_too_large, file,
             words("the header claims ", bytes, " bytes; the limit is ", options.max_header_bytes,
                   pointer_hint({reinterpret_cast<char const*>(start.data()), 8})));
    if (bytes > file_bytes - 8)
        fail(safetensors_fault::invalid_header_length, file,
             words("the header claims ", bytes, " bytes, but the file has only ", file_bytes - 8,
                   " after the first 8"));
    return bytes;
}

/// Refuses a file of an unfinished save, because nothing else in it is reliable.
inline void check_finished(safetensors_header const& header, std::string_view file) {
    auto const save = header.metadata.find(std::string(save_id_name));
    if (save != header.metadata.end() && save->second == unknown_save_id)
        fail(errc::corrupt_file, file,
             ": the save that wrote it was not finished; load another checkpoint");
}

/// Refuses a header that has its own digest, but was changed.
inline void check_own_digest(std::string_view json, safetensors_header const& header,
                             std::string_view file) {
    auto const stated = header.metadata.find(std::string(header_digest_name));
    if (stated == header.metadata.end())
        return;
    std::string const match = own_digest_of(json).value_or("nothing");
    if (match != stated->second)
        fail(errc::corrupt_file, file, ": the header was changed: its digest is ", match, ", but ",
             header_digest_name, " in it gives '", stated->second, "'");
}

RESHARD_DECL safetensors_header parse_safetensors_json(std::string_view json,
                                                       std::uint64_t file_bytes,
                                                       std::string_view file,
                                                       safetensors_options const& options) {
    BOOST_ASSERT(file_bytes >= 8 && json.size() <= file_bytes - 8);
    if (std::size_t const index = find_invalid_utf8(json); index != json.size())
        fail(safetensors_fault::invalid_header, file,
             words("byte ", index, " of the header is not UTF-8"));
    safetensors_header header;
    header.data_offset = 8 + json.size();
    header.json_digest = digest_of_bytes(std::as_bytes(std::span(json)));
    if (auto const fault = read_header_json(json, options.max_depth, header))
        fail(safetensors_fault::invalid_header_deserialization, file,
             words("byte ", fault->position, " of the header: ", fault->text));
    check_finished(header, file);
    check_own_digest(json, header, file);
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
    open_file file = open_to_read(*files_of_system(), path);
    return read_safetensors_header(file, path.string(), options);
}

RESHARD_DECL safetensors_header read_safetensors_header(open_file& file, std::string_view name,
                                                        safetensors_options const& options) {
    std::string const start = read_bytes(file, std::min<std::uint64_t>(file.bytes, 8));
    auto const bytes =
        safetensors_json_bytes(std::as_bytes(std::span(start)), file.bytes, name, options);
    constexpr std::uint64_t few_bytes = std::uint64_t{4} << 20;
    if (bytes <= few_bytes)
        return parse_safetensors_json(read_bytes(file, bytes), file.bytes, name, options);
    // Large pages are allocated faster. They are returned to the system before the tensors are
    // assembled, even if the heap is fragmented.
    private_mapping const memory(static_cast<std::size_t>(bytes), true);
    std::span const text(memory.data(), static_cast<std::size_t>(bytes));
    file.file->read(file.position, text);
    return parse_safetensors_json({reinterpret_cast<char const*>(text.data()), text.size()},
                                  file.bytes, name, options);
}

} // namespace detail

} // namespace reshard

#endif
