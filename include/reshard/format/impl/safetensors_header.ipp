// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_SAFETENSORS_HEADER_IPP
#define RESHARD_FORMAT_IMPL_SAFETENSORS_HEADER_IPP

#include <reshard/format/safetensors_header.hpp>

#include <algorithm>

namespace reshard {

RESHARD_DECL std::string to_string(std::vector<std::uint64_t> const& extents) {
    std::string text = "[";
    for (std::uint64_t const extent : extents)
        text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
    return text + "]";
}

namespace detail {

RESHARD_DECL void check_size(safetensors_entry const& tensor, std::string_view file) {
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

RESHARD_DECL void sort_by_data(std::vector<safetensors_entry>& tensors) {
    auto const before = [](safetensors_entry const& a, safetensors_entry const& b) {
        if (a.begin != b.begin)
            return a.begin < b.begin;
        return a.end != b.end ? a.end < b.end : a.name < b.name;
    };
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
             "the tensors end at byte " + std::to_string(end) + " of the data, but the file has " +
                 std::to_string(there) + " bytes of data" +
                 (end > there ? "; it has been cut off" : ""));
}

} // namespace detail

} // namespace reshard

#endif
