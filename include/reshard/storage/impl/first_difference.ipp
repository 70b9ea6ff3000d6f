// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_FIRST_DIFFERENCE_IPP
#define RESHARD_STORAGE_IMPL_FIRST_DIFFERENCE_IPP

#include <reshard/storage/first_difference.hpp>

#include <reshard/copy/bits.hpp>
#include <reshard/core/strides.hpp>

#include <cstddef>
#include <cstring>

namespace reshard::detail {

inline bool differs_at(element_row const& a, element_row const& b, index_t i, int bits) {
    if (bits < 8)
        return read_bits(a.bytes, a.bit(i, bits), bits) != read_bits(b.bytes, b.bit(i, bits), bits);
    return std::memcmp(a.bytes + a.bit(i, bits) / 8, b.bytes + b.bit(i, bits) / 8,
                       static_cast<std::size_t>(bits / 8)) != 0;
}

RESHARD_DECL index_t first_difference(element_row const& a, element_row const& b, index_t count,
                                      int bits) {
    bool const is_dense = a.step == 1 && b.step == 1 && bits >= 8;
    if (is_dense && std::memcmp(a.bytes + a.bit(0, bits) / 8, b.bytes + b.bit(0, bits) / 8,
                                static_cast<std::size_t>(count * bits / 8)) == 0)
        return count;
    index_t i = 0;
    while (i < count && !differs_at(a, b, i, bits))
        ++i;
    return i;
}

RESHARD_DECL std::optional<index_t>
first_difference(affine_copy const& loop, const_tensor_view const& a, const_tensor_view const& b) {
    affine_copy outer = fuse(loop);
    index_t count = 1, a_step = 1, b_step = 1;
    if (outer.ndim() > 0) {
        std::size_t const last = outer.ndim() - 1;
        count = outer.extent[last];
        a_step = outer.source_strides[last];
        b_step = outer.target_strides[last];
        outer.extent = {outer.extent.begin(), outer.extent.end() - 1};
        outer.source_strides = {outer.source_strides.begin(), outer.source_strides.end() - 1};
        outer.target_strides = {outer.target_strides.begin(), outer.target_strides.end() - 1};
    }
    index_t const rows = count == 0 ? 0 : element_count(outer.extent);
    for (index_t row = 0; row < rows; ++row) {
        index_vector const at = unravel_index(row, outer.extent);
        index_t const a_first = outer.source_offset + linear_offset(at, outer.source_strides);
        index_t const b_first = outer.target_offset + linear_offset(at, outer.target_strides);
        index_t const found = first_difference(
            element_row{static_cast<unsigned char const*>(a.data), a_first, a_step},
            element_row{static_cast<unsigned char const*>(b.data), b_first, b_step}, count,
            bits(a.dtype));
        if (found < count)
            return b_first + found * b_step;
    }
    return std::nullopt;
}

} // namespace reshard::detail

#endif
