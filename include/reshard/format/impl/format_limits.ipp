// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_FORMAT_LIMITS_IPP
#define RESHARD_FORMAT_IMPL_FORMAT_LIMITS_IPP

#include <reshard/format/written_formats.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/json_document.hpp>
#include <reshard/format/pickle/pickle.hpp>
#include <reshard/format/text_file.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

/// \file
/// The limits of each format, so that everything written can be read again.

namespace reshard::detail {

/// The limits of a format's files, besides the data types that its planner refuses.
struct format_limits {
    std::string_view format;
    std::size_t most_name_bytes = std::numeric_limits<std::size_t>::max();
    bool has_empty_names = true;
    bool has_zero_bytes = true; ///< names may have zero bytes
    bool has_six_bits = true;   ///< elements may have 6 bits
    bool has_pairs = false;     ///< elements of 4 bits are stored in pairs along the last axis
    bool counts_zeros = false;  ///< the bytes of a tensor are counted without its extents of 0
    std::size_t most_axes = max_ndim;
    /// The maximum for names of tensors, if names of other values may be longer.
    std::size_t most_tensor_name_bytes = std::numeric_limits<std::size_t>::max();
};

/// The length of a member's name is a field of 16 bits, and NumPy's ending is part of the name.
inline constexpr std::size_t most_npz_name_bytes = 0xffff - std::string_view(".npy").size();

/// \par Source tests of loading with safetensors 0.8 (`safe_open`), NumPy 2.4 and torch 2.15; zip
///             and our reader of pickles limit the lengths of names. GGUF: `GGML_MAX_DIMS` and
///             `GGML_MAX_NAME` of ggml, which counts a zero byte at the end of a name
inline constexpr format_limits limits_of_formats[] = {
    {.format = "gguf",
     .most_name_bytes = 0xffff,
     .has_zero_bytes = false,
     .counts_zeros = true,
     .most_axes = 4,
     .most_tensor_name_bytes = 63},
    {.format = "huggingface", .has_six_bits = false, .has_pairs = true},
    {.format = "megatron_torch_dist", .most_name_bytes = pickle_value::most_text_bytes},
    {.format = "npy", .counts_zeros = true},
    {.format = "npz",
     .most_name_bytes = most_npz_name_bytes,
     .has_zero_bytes = false,
     .counts_zeros = true},
    {.format = "paddle_flex", .most_name_bytes = pickle_value::most_text_bytes},
    {.format = "safetensors", .has_six_bits = false, .has_pairs = true},
    {.format = "sharded_safetensors", .has_pairs = true},
    {.format = "torch_dcp", .most_name_bytes = pickle_value::most_text_bytes},
    {.format = "torch_save", .most_name_bytes = most_pickled_name_bytes, .has_empty_names = false},
};

inline format_limits limits_of(std::string_view format) {
    auto const* const match = std::ranges::find(limits_of_formats, format, &format_limits::format);
    return match == std::end(limits_of_formats) ? format_limits{format} : *match;
}

/// A name in a message, shortened if it is long.
inline std::string shown_name(std::string_view key) {
    constexpr std::size_t most = 80;
    if (key.size() <= most)
        return json_quoted(key);
    std::size_t end = most / 2;
    while (end > 0 && (static_cast<unsigned char>(key[end]) & 0xc0) == 0x80) // inside a character
        --end;
    return json_quoted(key.substr(0, end)) + "...";
}

RESHARD_DECL void check_name_limits(std::string_view format, std::string_view key) {
    format_limits const limits = limits_of(format);
    if (std::size_t const index = find_invalid_utf8(key); index != key.size())
        fail(errc::unsupported, "byte ", index, " of the name '", key,
             "' is not UTF-8, but names in ", format, " must be; rename it");
    if (key.empty() && !limits.has_empty_names)
        fail(errc::unsupported, "a key is empty, but ", format,
             " does not allow empty names; write safetensors");
    if (key.size() > limits.most_name_bytes)
        fail(errc::unsupported, shown_name(key), ": the name has ", key.size(), " bytes, but ",
             format, " allows at most ", limits.most_name_bytes,
             "; rename it, or write safetensors");
    if (!limits.has_zero_bytes && key.find('\0') != key.npos)
        fail(errc::unsupported, shown_name(key), ": the name has a zero byte, which readers of ",
             format, " take as its end; rename it, or write safetensors");
}

/// Refuses a last axis with an odd extent, if elements are stored in pairs.
inline void check_pairs(format_limits const& limits, std::string_view key, data_type dtype,
                        index_vector const& stored) {
    index_t const last = stored.empty() ? 0 : stored[stored.size() - 1];
    if (!limits.has_pairs || dtype != data_type::f4 || last % 2 == 0)
        return;
    fail(errc::unsupported, shown_name(key), ": elements of ", dtype,
         " are stored in pairs along the ", "last axis, which has ", counted(last, "element"),
         " in shape ", stored, "; readers of ", limits.format,
         " load only even extents: cut between pairs, or cast it to bfloat16");
}

/// Refuses extents that are too large for NumPy, which multiplies all extents that are not 0.
inline void check_extents(format_limits const& limits, std::string_view key, data_type dtype,
                          index_vector shape) {
    if (!limits.counts_zeros || std::ranges::find(shape, 0) == shape.end())
        return;
    std::ranges::replace(shape, 0, 1);
    index_t left = std::numeric_limits<index_t>::max() / std::max<index_t>(1, bits(dtype) / 8);
    for (index_t const extent : shape)
        left /= extent;
    if (left == 0)
        fail(errc::unsupported, shown_name(key),
             ": has no elements, but extents so large that NumPy cannot load it; omit it, or "
             "write safetensors");
}

/// Refuses a name that is too long for a tensor, and a tensor of too many axes.
inline void check_tensor(format_limits const& limits, std::string_view key,
                         index_vector const& shape) {
    if (key.size() > limits.most_tensor_name_bytes)
        fail(errc::unsupported, shown_name(key), ": the name has ", key.size(), " bytes, but ",
             limits.format, " allows at most ", limits.most_tensor_name_bytes,
             " for a tensor; rename it, or write safetensors");
    if (shape.size() > limits.most_axes)
        fail(errc::unsupported, shown_name(key), ": has ", shape.size(), " axes in shape ", shape,
             ", but ", limits.format, " allows at most ", limits.most_axes,
             "; reshape it in the program, or write safetensors");
}

RESHARD_DECL void check_limits(std::string_view format, std::string_view key, data_type dtype,
                               index_vector const& shape) {
    check_name_limits(format, key);
    format_limits const limits = limits_of(format);
    check_tensor(limits, key, shape);
    if (!limits.has_six_bits && bits(dtype) == 6)
        fail(errc::unsupported, shown_name(key), ": elements of ", dtype,
             " are not supported by the library of ", format,
             "; cast it to bfloat16, or write sharded_safetensors");
    check_pairs(limits, key, dtype, shape);
    check_extents(limits, key, dtype, shape);
}

RESHARD_DECL void check_limits(std::string_view format, layout const& target) {
    format_limits const limits = limits_of(format);
    for (tensor_layout const& tensor : target.tensors) {
        check_name_limits(format, tensor.key);
        check_tensor(limits, tensor.key, target.shape_of(tensor));
        check_extents(limits, tensor.key, tensor.dtype, target.shape_of(tensor));
        if (!limits.has_pairs || tensor.dtype != data_type::f4)
            continue;
        shard_table const shards = listed(target.spread_of(tensor));
        for (std::size_t i = 0; i < shards.size(); ++i) {
            box const region = shards.region(i);
            if (!shards.flat(i))
                check_pairs(limits, tensor.key, tensor.dtype, held_shape(region, shards.cycles(i)));
            if (region.ndim() > 0)
                for (axis_cycle const& cycle : shards.cycles(i))
                    if (cycle.axis + 1 == region.ndim())
                        check_pairs(limits, tensor.key, tensor.dtype, {cycle.block});
        }
    }
}

} // namespace reshard::detail

#endif
