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

using line_function = void (*)(unsigned char const* source, index_t source_stride,
                               unsigned char* target, index_t target_stride, index_t count);

/// `copy_line` of elements of `size` bytes: 1, 2, 4 or 8.
inline line_function copy_line_of(index_t size) {
    switch (size) {
    case 1: return copy_line<1>;
    case 2: return copy_line<2>;
    case 4: return copy_line<4>;
    default: BOOST_ASSERT(size == 8); return copy_line<8>;
    }
}

/// Copies elements in squares of the last two axes, so that both sides reuse what a cache holds.
///
/// \par Units strides, offsets and `size`, that of an element, in bytes
/// \pre       `copy.ndim() >= 2`
inline void copy_strided(affine_copy const& copy, index_t size, memory const& at) {
    constexpr index_t side = 32;
    std::size_t const across = copy.ndim() - 2;
    std::size_t const along = copy.ndim() - 1;
    index_t const source_stride = copy.source_strides[along];
    index_t const target_stride = copy.target_strides[along];
    line_function const copy_one = copy_line_of(size);
    auto const copy_square = [&](index_t source, index_t target, index_t lines, index_t count) {
        for (index_t i = 0; i < lines; ++i)
            copy_one(at.source + source + i * copy.source_strides[across], source_stride,
                     at.target + target + i * copy.target_strides[across], target_stride, count);
    };
    auto const copy_all = [&](index_t source, index_t target) {
        for (index_t i = 0; i < copy.extent[across]; i += side)
            for (index_t j = 0; j < copy.extent[along]; j += side)
                copy_square(source + i * copy.source_strides[across] + j * source_stride,
                            target + i * copy.target_strides[across] + j * target_stride,
                            std::min(side, copy.extent[across] - i),
                            std::min(side, copy.extent[along] - j));
    };
    for_each_place(copy, across, place_visitor(copy_all));
}

} // namespace reshard::detail

#endif
