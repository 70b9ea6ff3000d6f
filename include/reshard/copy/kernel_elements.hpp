// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_KERNEL_ELEMENTS_HPP
#define RESHARD_COPY_KERNEL_ELEMENTS_HPP

#include <reshard/copy/loops.hpp>

/// \file
/// Elements one by one, for strides that no faster kernel knows.

namespace reshard::detail {

/// Copies `count` elements with any strides.
template <std::size_t Size>
void copy_line(unsigned char const* source, index_t source_stride, unsigned char* target,
               index_t target_stride, index_t count) {
    for (index_t i = 0; i < count; ++i)
        std::memcpy(target + i * target_stride, source + i * source_stride, Size);
}

/// Copies elements in squares of the last two axes, so that both sides reuse what a cache holds.
///
/// \par Units strides and offsets in bytes
/// \pre       `copy.ndim() >= 2`
template <std::size_t Size>
void copy_strided(affine_copy const& copy, memory const& at) {
    constexpr index_t side = 32;
    std::size_t const across = copy.ndim() - 2;
    std::size_t const along = copy.ndim() - 1;
    for_each_place(copy, across, [&](index_t source, index_t target) {
        auto const copy_square = [&](index_t i, index_t i_end, index_t j, index_t j_end) {
            for (; i < i_end; ++i)
                copy_line<Size>(at.source + source + i * copy.source_strides[across] +
                                    j * copy.source_strides[along],
                                copy.source_strides[along],
                                at.target + target + i * copy.target_strides[across] +
                                    j * copy.target_strides[along],
                                copy.target_strides[along], j_end - j);
        };
        for_each_piece(copy.extent[across], side, side, [&](index_t i, index_t i_end) {
            for_each_piece(copy.extent[along], side, side,
                           [&](index_t j, index_t j_end) { copy_square(i, i_end, j, j_end); });
        });
    });
}

} // namespace reshard::detail

#endif
