// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_IMPL_STREAM_LINES_IPP
#define RESHARD_COPY_IMPL_STREAM_LINES_IPP

#include <reshard/copy/stream_lines.hpp>

#include <reshard/copy/vectors.hpp>

#include <algorithm>
#include <cstring>

namespace reshard::detail {

RESHARD_DECL void stream_lines(vector_set vectors, unsigned char* target,
                               unsigned char const* source, std::size_t lines) {
    switch (vectors) {
    case vector_set::avx512: return vectors64::stream_lines(target, source, lines);
    case vector_set::avx2: return vectors32::stream_lines(target, source, lines);
    case vector_set::none: return vectors16::stream_lines(target, source, lines);
    }
}

RESHARD_DECL void streaming_fence() {
#if defined(__SSE2__)
    __builtin_ia32_sfence();
#endif
}

RESHARD_DECL void stream_bytes(unsigned char* target, unsigned char const* source,
                               std::size_t bytes) {
    std::size_t const head = std::min(bytes, bytes_to_line(target));
    if (head > 0)
        std::memcpy(target, source, head);
    std::size_t const lines = (bytes - head) / line_bytes;
    stream_lines(widest_vectors(), target + head, source + head, lines);
    std::size_t const done = head + lines * line_bytes;
    if (done < bytes)
        std::memcpy(target + done, source + done, bytes - done);
}

RESHARD_DECL void copy_run(unsigned char* target, unsigned char const* source, std::size_t bytes,
                           bool streaming) {
    if (streaming)
        stream_bytes(target, source, bytes);
    else
        std::memcpy(target, source, bytes);
}

RESHARD_DECL void stream_blocks(vector_set vectors, std::span<row_block const> blocks,
                                index_t rows) {
    if (!std::all_of(blocks.begin(), blocks.end(), has_whole_lines))
        return copy_blocks(blocks, rows, true);
    switch (vectors) {
    case vector_set::avx512: return vectors64::stream_blocks(blocks, rows);
    case vector_set::avx2: return vectors32::stream_blocks(blocks, rows);
    case vector_set::none: return vectors16::stream_blocks(blocks, rows);
    }
}

} // namespace reshard::detail

#endif
