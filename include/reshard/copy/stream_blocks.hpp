// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_STREAM_BLOCKS_HPP
#define RESHARD_COPY_STREAM_BLOCKS_HPP

#include <reshard/copy/loops.hpp>

#include <cstddef>
#include <span>

/// \file
/// Blocks of short rows, several side by side, copied row by row without a call for each.

namespace reshard::detail {

/// Rows of equally many bytes, equally far apart on each side.
struct row_block {
    unsigned char const* source;
    unsigned char* target;
    index_t source_pitch;
    index_t target_pitch;
    std::size_t bytes; ///< of a row
};

/// Copies the first row of each block, then the second one of each, and so on.
inline void copy_blocks(std::span<row_block const> blocks, index_t rows, bool streaming) {
    for (index_t row = 0; row < rows; ++row)
        for (row_block const& one : blocks)
            copy_run(one.target + row * one.target_pitch, one.source + row * one.source_pitch,
                     one.bytes, streaming);
}

/// True where every row is whole lines of the cache in the target.
inline bool has_whole_lines(row_block const& one) {
    constexpr auto line = static_cast<index_t>(line_bytes);
    return bytes_to_line(one.target) == 0 && one.bytes % line_bytes == 0 &&
           one.target_pitch % line == 0;
}

#if defined(__x86_64__)

/// The same for rows of whole lines, past the caches.
[[gnu::target("avx2")]] inline void stream_blocks_avx2(std::span<row_block const> blocks,
                                                       index_t rows) {
    for (index_t row = 0; row < rows; ++row)
        for (row_block const& one : blocks)
            stream_lines_inline(one.target + row * one.target_pitch,
                                one.source + row * one.source_pitch, one.bytes / line_bytes);
}

/// Copies the blocks row by row past the caches; `streaming_fence` must follow.
inline void stream_blocks(std::span<row_block const> blocks, index_t rows) {
    if (__builtin_cpu_supports("avx2") &&
        std::all_of(blocks.begin(), blocks.end(), has_whole_lines))
        stream_blocks_avx2(blocks, rows);
    else
        copy_blocks(blocks, rows, true);
}

#else

inline void stream_blocks(std::span<row_block const> blocks, index_t rows) {
    copy_blocks(blocks, rows, true);
}

#endif

} // namespace reshard::detail

#endif
