// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_SAFETENSORS_HEADER_HPP
#define RESHARD_FORMAT_SAFETENSORS_HEADER_HPP

#include <reshard/core/data_type.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/format/safetensors_fault.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// What the header of a safetensors file says, and whether it fits the file.

namespace reshard {

/// One tensor of a safetensors file, as its header has it.
///
/// \par Shape unlimited, and extents may exceed `index_t`, since a header may say so where an extent is 0
/// \par Units `begin` and `end` in bytes from the beginning of the data
struct safetensors_entry {
    std::string name;
    data_type dtype{};
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    bool operator==(safetensors_entry const&) const = default;
};

/// The header of a safetensors file.
struct safetensors_header {
    std::vector<safetensors_entry> tensors;      ///< in the order of their data
    std::map<std::string, std::string> metadata; ///< what stands under `__metadata__`
    std::uint64_t data_offset = 0;               ///< where the data begins, in bytes of the file
    std::vector<std::string> warnings;           ///< what the format's text does not allow
};

/// How much a reader lets pass.
enum class safetensors_mode {
    strict,     ///< the text of the format
    compatible, ///< what the reference reader accepts; what the text forbids is a warning
};

/// How a header is read.
struct safetensors_options {
    safetensors_mode mode = safetensors_mode::strict;
    std::uint64_t max_header_bytes = 100'000'000;
    std::size_t max_depth = 127; ///< of arrays and objects within one another

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.mode, self.max_header_bytes, self.max_depth);
    }
};

/// `[2, 3]`.
inline std::string to_string(std::vector<std::uint64_t> const& extents) {
    std::string text = "[";
    for (std::uint64_t const extent : extents)
        text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
    return text + "]";
}

namespace detail {

/// `a * b`, or nothing where it does not fit 64 bits.
constexpr std::optional<std::uint64_t> multiply(std::uint64_t a, std::uint64_t b) {
    if (a != 0 && b > std::numeric_limits<std::uint64_t>::max() / a)
        return std::nullopt;
    return a * b;
}

/// The bits of a tensor, or nothing where some product from the left does not fit 64 bits.
///
/// A zero helps only the extents behind it: [0, 2^64 - 1, 2] has none, [2^64 - 1, 2, 0] too many.
constexpr std::optional<std::uint64_t> bit_count(std::vector<std::uint64_t> const& shape,
                                                 data_type dtype) {
    std::optional<std::uint64_t> product = 1;
    for (std::uint64_t const extent : shape)
        if (product)
            product = multiply(*product, extent);
    return product ? multiply(*product, static_cast<std::uint64_t>(bits(dtype))) : std::nullopt;
}

inline std::string quoted(safetensors_entry const& tensor) {
    return "tensor '" + tensor.name + "': ";
}

/// Refuses a tensor whose bytes are not exactly what shape and data type ask for.
inline void check_size(safetensors_entry const& tensor, std::string_view file) {
    std::string const what =
        "shape " + to_string(tensor.shape) + " of " + std::string(code(tensor.dtype));
    auto const bit_total = bit_count(tensor.shape, tensor.dtype);
    if (!bit_total)
        fail(safetensors_fault::validation_overflow, file,
             quoted(tensor) + "the bits of " + what + " do not fit 64 bits");
    if (*bit_total % 8 != 0)
        fail(safetensors_fault::misaligned_slice, file,
             quoted(tensor) + what + " has " + std::to_string(*bit_total) +
                 " bits, which do not fill whole bytes");
    if (tensor.end - tensor.begin != *bit_total / 8)
        fail(safetensors_fault::tensor_invalid_info, file,
             quoted(tensor) + what + " needs " + std::to_string(*bit_total / 8) +
                 " bytes, but its data offsets hold " + std::to_string(tensor.end - tensor.begin));
}

/// Refuses a tensor that does not begin at `expected`.
inline void check_place(safetensors_entry const& tensor, std::uint64_t expected,
                        std::string_view file) {
    if (tensor.begin != expected)
        fail(safetensors_fault::invalid_offset, file,
             quoted(tensor) + "its data begins at byte " + std::to_string(tensor.begin) +
                 ", but the data before it ends at byte " + std::to_string(expected));
    if (tensor.end < tensor.begin)
        fail(safetensors_fault::invalid_offset, file,
             quoted(tensor) + "its data begins at byte " + std::to_string(tensor.begin) +
                 " and ends before, at byte " + std::to_string(tensor.end));
}

/// Sorts the tensors by their data.
inline void sort_by_data(std::vector<safetensors_entry>& tensors) {
    auto const before = [](safetensors_entry const& a, safetensors_entry const& b) {
        if (a.begin != b.begin)
            return a.begin < b.begin;
        return a.end != b.end ? a.end < b.end : a.name < b.name;
    };
    std::sort(tensors.begin(), tensors.end(), before);
}

} // namespace detail

/// Refuses tensors that do not cover the data of the file exactly: in order, without gap or overlap.
///
/// \pre       `tensors` is sorted by its data, and `data_offset <= file_bytes`
/// \throws    error with errc::corrupt_file that names the file, the tensor and both numbers
/// \par Source `Metadata::validate` of the reference reader, the same checks in the same order
inline void check_data(safetensors_header const& header, std::uint64_t file_bytes,
                       std::string_view file) {
    std::uint64_t end = 0;
    for (safetensors_entry const& tensor : header.tensors) {
        detail::check_place(tensor, end, file);
        detail::check_size(tensor, file);
        end = tensor.end;
    }
    std::uint64_t const there = file_bytes - header.data_offset;
    if (end != there)
        fail(safetensors_fault::metadata_incomplete_buffer, file,
             "the tensors end at byte " + std::to_string(end) + " of the data, but the file has " +
                 std::to_string(there) + " bytes of data" +
                 (end > there ? "; it has been cut off" : ""));
}

} // namespace reshard

#endif
