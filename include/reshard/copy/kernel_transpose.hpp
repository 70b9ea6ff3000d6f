// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_KERNEL_TRANSPOSE_HPP
#define RESHARD_COPY_KERNEL_TRANSPOSE_HPP

#include <reshard/copy/loops.hpp>

/// \file
/// Copies whose fastest axes differ: tile by tile, each turned in the nearest cache.

namespace reshard::detail {

/// Transposes the last two axes; those before them are loops.
///
/// \par Units strides and offsets in bytes
/// \pre       `copy.ndim() >= 2`; the last axis has the stride `Size` in the target, the one before it in
///            the source
template <std::size_t Size>
void copy_transposed(affine_copy const& copy, memory const& at) {
    alignas(line_bytes) unsigned char tile[tile_bytes];
    index_t const target_pitch = copy.target_strides[copy.ndim() - 2];
    index_t const source_pitch = copy.source_strides[copy.ndim() - 1];
    for_each_tile(copy, tiles_for(copy, {Size, Size}, at),
                  [&](tile_extent extent, index_t source, index_t target) {
                      gather_tile<Size>(at.source + source, source_pitch, extent, tile);
                      index_t const line = extent.width * index_t{Size};
                      for (index_t i = 0; i < extent.lines; ++i)
                          copy_run(at.target + target + i * target_pitch, tile + i * line,
                                   static_cast<std::size_t>(line), at.streaming);
                  });
}

} // namespace reshard::detail

#endif
