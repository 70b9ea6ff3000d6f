// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_KERNEL_TRANSPOSE_HPP
#define RESHARD_COPY_KERNEL_TRANSPOSE_HPP

#include <reshard/copy/loops.hpp>
#include <reshard/copy/turn_square.hpp>

/// \file
/// Copies whose fastest axes differ: tile by tile, each transposed in registers or in the nearest
/// cache.

namespace reshard::detail {

/// Transposes a tile of whole squares one by one, without a copy of it in the cache.
///
/// \par Units pitches and `size`, that of an element, in bytes
inline void transpose_squares(square_function square, index_t size, tile_extent extent,
                              memory_lines<unsigned char const> source,
                              memory_lines<unsigned char> target, bool streaming) {
    index_t const side = square_side(size);
    for (index_t i = 0; i < extent.lines; i += side)
        for (index_t j = 0; j < extent.width; j += side)
            square({source.first + j * source.pitch + i * size, source.pitch},
                   {target.first + i * target.pitch + j * size, target.pitch}, streaming);
}

/// Transposes the last two axes; those before them are loops.
///
/// \par Units strides, offsets and `size`, that of an element, in bytes
/// \pre       `copy.ndim() >= 2`; the last axis has the stride `size` in the target, the one before
///            it in the source; the processor has the `vectors`
inline void copy_transposed(affine_copy const& copy, index_t size, memory const& at,
                            vector_set vectors = widest_vectors()) {
    alignas(line_bytes) unsigned char tile[tile_bytes];
    index_t const target_pitch = copy.target_strides[copy.ndim() - 2];
    index_t const source_pitch = copy.source_strides[copy.ndim() - 1];
    index_t const side = square_side(size);
    square_function const square = square_transpose(size, vectors);
    gather_function const gather = gather_tile_of(size);
    auto const transpose_tile = [&](tile_extent extent, unsigned char const* source,
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
                          transpose_tile(extent, at.source + source, at.target + target);
                  });
}

} // namespace reshard::detail

#endif
