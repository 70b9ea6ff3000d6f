// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_KERNEL_TRANSPOSE_HPP
#define RESHARD_COPY_KERNEL_TRANSPOSE_HPP

#include <reshard/copy/loops.hpp>
#include <reshard/copy/turn_square.hpp>

/// \file
/// Copies whose fastest axes differ: tile by tile, each transposed in registers or in the nearest
/// cache.

namespace reshard::detail {

/// True where a tile is whole squares.
template <std::size_t Size>
constexpr bool is_squares(tile_extent extent) {
    return extent.lines % square_side<Size> == 0 && extent.width % square_side<Size> == 0;
}

/// Transposes a tile square by square, without a copy of it in the cache.
template <std::size_t Size, bool Streaming>
void transpose_squares(vector_set vectors, tile_extent extent,
                       memory_lines<unsigned char const> source,
                       memory_lines<unsigned char> target) {
    constexpr index_t side = square_side<Size>;
    for (index_t i = 0; i < extent.lines; i += side)
        for (index_t j = 0; j < extent.width; j += side)
            transpose_in_registers<Size, Streaming>(
                vectors, {source.first + j * source.pitch + i * index_t{Size}, source.pitch},
                {target.first + i * target.pitch + j * index_t{Size}, target.pitch});
}

/// Transposes the last two axes; those before them are loops.
///
/// \par Units strides and offsets in bytes
/// \pre       `copy.ndim() >= 2`; the last axis has the stride `Size` in the target, the one before
///            it in the source; the processor has the `vectors`
template <std::size_t Size>
void copy_transposed(affine_copy const& copy, memory const& at,
                     vector_set vectors = widest_vectors()) {
    alignas(line_bytes) unsigned char tile[tile_bytes];
    index_t const target_pitch = copy.target_strides[copy.ndim() - 2];
    index_t const source_pitch = copy.source_strides[copy.ndim() - 1];
    auto const transpose_tile = [&](tile_extent extent, unsigned char const* source,
                                    unsigned char* target) {
        gather_tile<Size>(source, source_pitch, extent, tile);
        index_t const line = extent.width * index_t{Size};
        for (index_t i = 0; i < extent.lines; ++i)
            copy_run(target + i * target_pitch, tile + i * line, static_cast<std::size_t>(line),
                     at.streaming);
    };
    auto const has_squares = [&](tile_extent extent, unsigned char const* target) {
        return has_square_transpose<Size>(vectors) && is_squares<Size>(extent) &&
               (!at.streaming || begins_at_lines(target, target_pitch));
    };
    auto const squares =
        at.streaming ? transpose_squares<Size, true> : transpose_squares<Size, false>;
    for_each_tile(copy, tiles_for(copy, {Size, Size}, at),
                  [&](tile_extent extent, index_t source, index_t target) {
                      if (has_squares(extent, at.target + target))
                          squares(vectors, extent, {at.source + source, source_pitch},
                                  {at.target + target, target_pitch});
                      else
                          transpose_tile(extent, at.source + source, at.target + target);
                  });
}

} // namespace reshard::detail

#endif
