// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_STREAM_BLOCKS_HPP
#define RESHARD_COPY_STREAM_BLOCKS_HPP

#include <reshard/copy/loops.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
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

/// True if each row of `next` begins where a row of `current_block` ends, on both sides.
inline bool continues(row_block const& current_block, row_block const& next) {
    return next.source == current_block.source + current_block.bytes &&
           next.target == current_block.target + current_block.bytes &&
           next.source_pitch == current_block.source_pitch &&
           next.target_pitch == current_block.target_pitch;
}

/// Copies the first row of each block, then the second one of each, and so on.
inline void copy_blocks(std::span<row_block const> blocks, index_t rows, bool streaming) {
    for (index_t row = 0; row < rows; ++row)
        for (row_block const& row_block : blocks)
            copy_run(row_block.target + row * row_block.target_pitch,
                     row_block.source + row * row_block.source_pitch, row_block.bytes, streaming);
}

/// True if every row is whole lines of the cache in the target.
inline bool has_whole_lines(row_block const& row_block) {
    return row_block.bytes % line_bytes == 0 &&
           begins_at_lines(row_block.target, row_block.target_pitch);
}

#if defined(__x86_64__)

/// The same for rows of whole lines, with non-temporal stores.
[[gnu::target("avx2")]] inline void stream_blocks_avx2(std::span<row_block const> blocks,
                                                       index_t rows) {
    for (index_t row = 0; row < rows; ++row)
        for (row_block const& row_block : blocks)
            stream_lines_inline(row_block.target + row * row_block.target_pitch,
                                row_block.source + row * row_block.source_pitch,
                                row_block.bytes / line_bytes);
}

/// How many rows further on the next page of the target is, at the least.
inline index_t rows_to_page(row_block const& row_block) {
    constexpr auto page = static_cast<index_t>(page_bytes);
    index_t const pitch = std::abs(row_block.target_pitch);
    return pitch == 0 ? 1 : (page + pitch - 1) / pitch;
}

/// The same, four rows in step, which lie in different pages of the first block; the rows that are
/// left one by one.
[[gnu::target("avx512f")]] inline void stream_blocks_avx512(std::span<row_block const> blocks,
                                                            index_t rows) {
    index_t const apart = blocks.empty() ? 1 : rows_to_page(blocks.front());
    index_t first = 0;
    for (; first + 4 * apart <= rows; first += 4 * apart)
        for (index_t row = first; row < first + apart; ++row)
            for (row_block const& row_block : blocks)
                stream_in_step({row_block.target + row * row_block.target_pitch,
                                apart * row_block.target_pitch,
                                row_block.source + row * row_block.source_pitch,
                                apart * row_block.source_pitch},
                               row_block.bytes / line_bytes);
    for (; first < rows; ++first)
        for (row_block const& row_block : blocks)
            stream_lines_avx512(row_block.target + first * row_block.target_pitch,
                                row_block.source + first * row_block.source_pitch,
                                row_block.bytes / line_bytes);
}

#endif

/// Copies the blocks row by row with non-temporal stores of the given registers; `streaming_fence`
/// must follow.
///
/// \pre the processor has them
inline void stream_blocks(vector_set vectors, std::span<row_block const> blocks, index_t rows) {
#if defined(__x86_64__)
    if (vectors != vector_set::none && std::all_of(blocks.begin(), blocks.end(), has_whole_lines))
        return vectors == vector_set::avx512 ? stream_blocks_avx512(blocks, rows)
                                             : stream_blocks_avx2(blocks, rows);
#endif
    (void)vectors;
    copy_blocks(blocks, rows, true);
}

} // namespace reshard::detail

#endif
