// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_SAFETENSORS_WRITER_IPP
#define RESHARD_FORMAT_IMPL_SAFETENSORS_WRITER_IPP

#include <reshard/format/safetensors_writer.hpp>

#include <reshard/format/json_text.hpp>
#include <reshard/format/utf8.hpp>

#include <algorithm>
#include <limits>
#include <numeric>

namespace reshard::detail {

/// Largest alignment first, then by name: so each tensor is aligned, and equal contents are equal
/// files.
inline std::vector<std::size_t> writing_order(std::span<safetensors_tensor const> tensors) {
    std::vector<std::size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return tensors[a].dtype != tensors[b].dtype ? tensors[a].dtype > tensors[b].dtype
                                                    : tensors[a].name < tensors[b].name;
    });
    return order;
}

inline void check_utf8(std::string_view text, std::string_view file) {
    if (std::size_t const place = find_invalid_utf8(text); place != text.size())
        fail(errc::unsupported, std::string(file) + ": byte " + std::to_string(place) + " of '" +
                                    std::string(text) + "' is not UTF-8");
}

RESHARD_DECL void check_name(std::string_view name, std::string_view file) {
    if (name == "__metadata__")
        fail(errc::unsupported, std::string(file) + ": no tensor may be named '__metadata__'");
    check_utf8(name, file);
}

RESHARD_DECL safetensors_entry entry_of(safetensors_tensor const& tensor, std::uint64_t begin,
                                        std::string_view file) {
    std::string const what = std::string(file) + ": tensor '" + tensor.name + "': shape " +
                             to_string(tensor.shape) + " of " + std::string(code(tensor.dtype));
    safetensors_entry entry{
        tensor.name, tensor.dtype, {tensor.shape.begin(), tensor.shape.end()}, begin, begin};
    auto const bit_total = bit_count(entry.shape, entry.dtype);
    if (!bit_total || *bit_total / 8 > std::numeric_limits<std::uint64_t>::max() - begin)
        fail(errc::overflow, what + " has more bits than 64 bits can count");
    if (*bit_total % 8 != 0)
        fail(errc::unsupported,
             what + " has " + std::to_string(*bit_total) + " bits, which do not fill whole bytes");
    entry.end += *bit_total / 8;
    return entry;
}

inline void check_names_differ(std::vector<safetensors_entry> const& tensors,
                               std::string_view file) {
    std::vector<std::string_view> names;
    for (safetensors_entry const& tensor : tensors)
        names.push_back(tensor.name);
    std::sort(names.begin(), names.end());
    auto const twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end())
        fail(errc::bad_layout, std::string(file) + ": tensor '" + std::string(*twice) +
                                   "' would stand twice in one file");
}

RESHARD_DECL std::string json_of(safetensors_entry const& tensor) {
    std::uint64_t const offsets[] = {tensor.begin, tensor.end};
    return json_quoted(tensor.name) + ":{\"dtype\":\"" + std::string(code(tensor.dtype)) +
           "\",\"shape\":" + json_list(tensor.shape) + ",\"data_offsets\":" + json_list(offsets) +
           "}";
}

RESHARD_DECL std::string json_of(std::map<std::string, std::string> const& metadata) {
    std::string text;
    for (auto const& [key, value] : metadata)
        text += (text.empty() ? "" : ",") + json_quoted(key) + ":" + json_quoted(value);
    return "\"__metadata__\":{" + text + "}";
}

inline std::string header_json(std::vector<safetensors_entry> const& tensors,
                               std::map<std::string, std::string> const& metadata) {
    std::string text = "{";
    if (!metadata.empty())
        text += json_of(metadata);
    for (safetensors_entry const& tensor : tensors)
        text += (text.size() > 1 ? "," : "") + json_of(tensor);
    text += "}";
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
}

inline std::string little_endian_text(std::uint64_t value) {
    std::string text;
    for (int i = 0; i < 8; ++i, value >>= 8)
        text += static_cast<char>(static_cast<unsigned char>(value & 0xFF));
    return text;
}

RESHARD_DECL safetensors_layout plan_safetensors(std::span<safetensors_tensor const> tensors,
                                                 std::map<std::string, std::string> const& metadata,
                                                 std::string_view file) {
    safetensors_layout result;
    result.order = writing_order(tensors);
    for (std::size_t const i : result.order) {
        check_name(tensors[i].name, file);
        result.tensors.push_back(entry_of(tensors[i], result.data_bytes, file));
        result.data_bytes = result.tensors.back().end;
    }
    for (auto const& [key, value] : metadata)
        check_utf8(key + value, file);
    check_names_differ(result.tensors, file);
    std::string const json = header_json(result.tensors, metadata);
    if (json.size() > safetensors_options{}.max_header_bytes)
        fail(errc::limit_exceeded, std::string(file) + ": the header would have " +
                                       std::to_string(json.size()) + " bytes; readers accept " +
                                       std::to_string(safetensors_options{}.max_header_bytes));
    result.header = little_endian_text(json.size()) + json;
    return result;
}

} // namespace reshard::detail

#endif
