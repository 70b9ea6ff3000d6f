// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_STREAM_LINES_HPP
#define RESHARD_COPY_STREAM_LINES_HPP

#include <reshard/copy/vector_set.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>

#include <cstddef>
#include <span>

/// \file
/// Writes whole cache lines with non-temporal stores. Also copies adjacent blocks of short rows row
/// by row, without a call for each row.

namespace reshard::detail {

/// Writes whole cache lines with non-temporal stores of the given registers.
///
/// \pre the processor supports `vectors`; `target` is aligned to a cache line
RESHARD_DECL void stream_lines(vector_set vectors, unsigned char* target,
                               unsigned char const* source, std::size_t lines);

/// Makes earlier non-temporal stores visible before any later store.
RESHARD_DECL void streaming_fence();

/// Copies like memcpy, with non-temporal stores for whole cache lines; `streaming_fence` must
/// follow.
RESHARD_DECL void stream_bytes(unsigned char* target, unsigned char const* source,
                               std::size_t bytes);

/// Copies `bytes` bytes with non-temporal stores: faster than memcpy if neither side is needed
/// soon.
///
/// Addresses need no alignment; other processes see these writes before any later store.
///
/// \pre the two ranges do not overlap
inline void copy_bytes_streaming(void* target, void const* source, std::size_t bytes) {
    if (bytes == 0)
        return;
    stream_bytes(static_cast<unsigned char*>(target), static_cast<unsigned char const*>(source),
                 bytes);
    streaming_fence();
}

/// Copies one run of bytes, with non-temporal stores if requested.
RESHARD_DECL void copy_run(unsigned char* target, unsigned char const* source, std::size_t bytes,
                           bool streaming);

/// True if each row of `next` begins at the end of a row of `current_block`, on both sides.
inline bool continues(row_block const& current_block, row_block const& next) {
    return next.source == current_block.source + current_block.bytes &&
           next.target == current_block.target + current_block.bytes &&
           next.source_pitch == current_block.source_pitch &&
           next.target_pitch == current_block.target_pitch;
}

/// True if every row consists of whole cache lines of the target.
inline bool has_whole_lines(row_block const& row_block) {
    return row_block.bytes % line_bytes == 0 &&
           begins_at_lines(row_block.target, row_block.target_pitch);
}

/// Copies the first row of every block, then the second row of every block, and so on.
inline void copy_blocks(std::span<row_block const> blocks, index_t rows, bool streaming) {
    for (index_t row = 0; row < rows; ++row)
        for (row_block const& row_block : blocks)
            copy_run(row_block.target + row * row_block.target_pitch,
                     row_block.source + row * row_block.source_pitch, row_block.bytes, streaming);
}

/// Copies the blocks row by row with non-temporal stores of the given registers; `streaming_fence`
/// must follow.
///
/// \pre the processor supports `vectors`
RESHARD_DECL void stream_blocks(vector_set vectors, std::span<row_block const> blocks,
                                index_t rows);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/copy/impl/stream_lines.ipp>
#endif

#endif
