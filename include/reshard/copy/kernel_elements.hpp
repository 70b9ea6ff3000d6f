// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_KERNEL_ELEMENTS_HPP
#define RESHARD_COPY_KERNEL_ELEMENTS_HPP

#include <reshard/copy/bits.hpp>
#include <reshard/copy/loops.hpp>
#include <reshard/copy/vectors.hpp>

/// \file
/// Copies elements one by one, for strides that no faster kernel supports.

namespace reshard::detail {

/// Reads lines of the source, `pitch` bytes apart, and writes them as columns of a dense tile.
///
/// \par Shape source: `extent.width` lines of `extent.lines` elements; tile: `extent.lines` lines
///            of `extent.width` elements
template <std::size_t Size>
void gather_tile(unsigned char const* source, index_t pitch, tile_extent extent,
                 unsigned char* tile) {
    constexpr index_t size = Size;
    constexpr index_t side = 16 / size;
    index_t const tile_pitch = extent.width * size;
    index_t const whole_lines = extent.lines - extent.lines % side;
    index_t const whole_width = extent.width - extent.width % side;
    for (index_t j = 0; j < whole_width; j += side)
        for (index_t i = 0; i < whole_lines; i += side)
            transpose_square<Size>(source + j * pitch + i * size, pitch,
                                   tile + i * tile_pitch + j * size, tile_pitch);
    for (index_t j = 0; j < extent.width; ++j)
        for (index_t i = j < whole_width ? whole_lines : 0; i < extent.lines; ++i)
            std::memcpy(tile + i * tile_pitch + j * size, source + j * pitch + i * size, Size);
}

using gather_function = void (*)(unsigned char const* source, index_t pitch, tile_extent extent,
                                 unsigned char* tile);

/// `gather_tile` for elements of `size` bytes: 1, 2, 4, 8 or 16.
inline gather_function gather_tile_of(index_t size) {
    switch (size) {
    case 1: return gather_tile<1>;
    case 2: return gather_tile<2>;
    case 4: return gather_tile<4>;
    case 8: return gather_tile<8>;
    default: BOOST_ASSERT(size == 16); return gather_tile<16>;
    }
}

/// Transposes a tile that consists of whole squares, without a copy of the tile in the cache.
///
/// \par Units pitches and the element size `size` in bytes
inline void transpose_squares(square_function square, index_t size, tile_extent extent,
                              memory_lines<unsigned char const> source,
                              memory_lines<unsigned char> target, bool streaming) {
    index_t const side = square_side(size);
    for (index_t i = 0; i < extent.lines; i += side)
        for (index_t j = 0; j < extent.width; j += side)
            square({source.first + j * source.pitch + i * size, source.pitch},
                   {target.first + i * target.pitch + j * size, target.pitch}, streaming);
}

/// Transposes the last two axes. The axes before them are loops.
///
/// \par Units strides, offsets and the element size `size` in bytes
/// \pre       `copy.ndim() >= 2`; the last axis has the stride `size` in the target, and the axis
///            before the last has it in the source; the processor supports `vectors`
inline void copy_transposed(affine_copy const& copy, index_t size, memory const& at,
                            vector_set vectors = widest_vectors()) {
    alignas(line_bytes) unsigned char tile[tile_bytes];
    index_t const target_pitch = copy.target_strides[copy.ndim() - 2];
    index_t const source_pitch = copy.source_strides[copy.ndim() - 1];
    index_t const side = square_side(size);
    square_function const square = square_transpose(size, vectors);
    gather_function const gather = gather_tile_of(size);
    auto const visit_tile = [&](tile_extent extent, unsigned char const* source,
                                unsigned char* target) {
        gather(source, source_pitch, extent, tile);
        index_t const line = extent.width * size;
        for (index_t i = 0; i < extent.lines; ++i)
            copy_run(target + i * target_pitch, tile + i * line, static_cast<std::size_t>(line),
                     at.streaming);
    };
    auto const has_squares = [&](tile_extent extent, unsigned char const* target) {
        return square && extent.lines % side == 0 && extent.width % side == 0 &&
               (!at.streaming || begins_at_lines(target, target_pitch));
    };
    for_each_tile(copy, tiles_for(copy, {size, size}, at),
                  [&](tile_extent extent, index_t source, index_t target) {
                      if (has_squares(extent, at.target + target))
                          transpose_squares(square, size, extent,
                                            {at.source + source, source_pitch},
                                            {at.target + target, target_pitch}, at.streaming);
                      else
                          visit_tile(extent, at.source + source, at.target + target);
                  });
}

/// Copies `count` elements with any strides.
template <std::size_t Size>
void copy_line(unsigned char const* source, index_t source_stride, unsigned char* target,
               index_t target_stride, index_t count) {
    for (index_t i = 0; i < count; ++i)
        std::memcpy(target + i * target_stride, source + i * source_stride, Size);
}

using line_function = void (*)(unsigned char const* source, index_t source_stride,
                               unsigned char* target, index_t target_stride, index_t count);

/// `copy_line` for elements, or short runs, of `size` bytes; null for other sizes.
inline line_function copy_line_of(index_t size) {
    switch (size) {
    case 1: return copy_line<1>;
    case 2: return copy_line<2>;
    case 4: return copy_line<4>;
    case 8: return copy_line<8>;
    case 16: return copy_line<16>;
    case 24: return copy_line<24>;
    case 32: return copy_line<32>;
    case 48: return copy_line<48>;
    case 64: return copy_line<64>;
    case 128: return copy_line<128>;
    default: return nullptr;
    }
}

/// Copies contiguous runs. The size of a run is the last extent times `size` bytes.
///
/// \par Units strides and offsets in bytes
/// \pre       `copy.ndim() >= 1`; the last axis has the stride `size` on both sides
inline void copy_rows(affine_copy const& copy, index_t size, memory const& at) {
    std::size_t const last = copy.ndim() - 1;
    auto const run = static_cast<std::size_t>(size * copy.extent[last]);
    bool const streaming = streams_rows(copy, run, at);
    auto const stream_rows = [&](index_t source, index_t target) {
        row_block const rows{at.source + source, at.target + target, copy.source_strides[last - 1],
                             copy.target_strides[last - 1], run};
        stream_blocks(widest_vectors(), {&rows, 1}, copy.extent[last - 1]);
    };
    if (streaming && last > 0)
        return for_each_place(copy, last - 1, place_visitor(stream_rows));
    line_function const copy_runs =
        last > 0 && !streaming ? copy_line_of(static_cast<index_t>(run)) : nullptr;
    auto const copy_runs_of_line = [&](index_t source, index_t target) {
        copy_runs(at.source + source, copy.source_strides[last - 1], at.target + target,
                  copy.target_strides[last - 1], copy.extent[last - 1]);
    };
    if (copy_runs)
        return for_each_place(copy, last - 1, place_visitor(copy_runs_of_line));
    for_each_place(copy, last, [&](index_t source, index_t target) {
        copy_run(at.target + target, at.source + source, run, streaming);
    });
}

/// Copies elements of `size` bits. Copies a contiguous last axis as one run.
///
/// \par Units strides and offsets in bits
/// \pre       `copy.ndim() >= 1`
/// \post      only the bits of the target's elements have changed
inline void copy_packed(affine_copy const& copy, index_t size, memory const& at) {
    std::size_t const last = copy.ndim() - 1;
    bool const has_runs = copy.source_strides[last] == size && copy.target_strides[last] == size;
    index_t const run = has_runs ? size * copy.extent[last] : size;
    auto const copy_one = [&](index_t source, index_t target) {
        copy_bits({at.source, source}, at.target, target, run);
    };
    for_each_place(copy, has_runs ? last : copy.ndim(), place_visitor(copy_one));
}

/// Copies elements in squares of the last two axes, so that both sides reuse cached memory. Copies
/// whole lines if the elements of both sides are closest together along the last axis.
///
/// \par Units strides, offsets and the element size `size` in bytes
/// \pre       `copy.ndim() >= 2`
inline void copy_strided(affine_copy const& copy, index_t size, memory const& at) {
    constexpr index_t side = 32;
    std::size_t const across = copy.ndim() - 2;
    std::size_t const along = copy.ndim() - 1;
    index_t const source_stride = copy.source_strides[along];
    index_t const target_stride = copy.target_strides[along];
    bool const has_lines = magnitude(source_stride) <= magnitude(copy.source_strides[across]);
    index_t const width = has_lines ? copy.extent[along] : side;
    line_function const copy_one = copy_line_of(size);
    BOOST_ASSERT(copy_one);
    auto const copy_square = [&](index_t source, index_t target, index_t lines, index_t count) {
        for (index_t i = 0; i < lines; ++i)
            copy_one(at.source + source + i * copy.source_strides[across], source_stride,
                     at.target + target + i * copy.target_strides[across], target_stride, count);
    };
    auto const copy_all = [&](index_t source, index_t target) {
        for (index_t i = 0; i < copy.extent[across]; i += side)
            for (index_t j = 0; j < copy.extent[along]; j += width)
                copy_square(source + i * copy.source_strides[across] + j * source_stride,
                            target + i * copy.target_strides[across] + j * target_stride,
                            std::min(side, copy.extent[across] - i),
                            std::min(width, copy.extent[along] - j));
    };
    for_each_place(copy, across, place_visitor(copy_all));
}

} // namespace reshard::detail

#endif
