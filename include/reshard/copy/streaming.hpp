// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_STREAMING_HPP
#define RESHARD_COPY_STREAMING_HPP

#include <reshard/copy/stream_lines.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

/// \file
/// Copies of bytes with non-temporal stores, for results too large to be found there later.

namespace reshard::detail {

/// Copies like memcpy, whole lines with non-temporal stores; `streaming_fence` must follow.
inline void stream_bytes(unsigned char* target, unsigned char const* source, std::size_t bytes) {
    std::size_t const head = std::min(bytes, bytes_to_line(target));
    if (head > 0)
        std::memcpy(target, source, head);
    std::size_t const lines = (bytes - head) / line_bytes;
    stream_lines(widest_vectors(), target + head, source + head, lines);
    std::size_t const done = head + lines * line_bytes;
    if (done < bytes)
        std::memcpy(target + done, source + done, bytes - done);
}

/// Copies `bytes` bytes with non-temporal stores: faster than memcpy where neither side is needed
/// soon.
///
/// Places need no alignment; what is written is seen by other processes before any later store.
///
/// \pre the two ranges do not overlap
inline void copy_bytes_streaming(void* target, void const* source, std::size_t bytes) {
    if (bytes == 0)
        return;
    stream_bytes(static_cast<unsigned char*>(target), static_cast<unsigned char const*>(source),
                 bytes);
    streaming_fence();
}

} // namespace reshard::detail

#endif
