// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_IMPL_LOOPS_IPP
#define RESHARD_COPY_IMPL_LOOPS_IPP

#include <reshard/copy/loops.hpp>

#include <reshard/copy/streaming.hpp>

#include <cstring>

namespace reshard {

namespace detail {

RESHARD_DECL void copy_run(unsigned char* target, unsigned char const* source, std::size_t bytes,
                           bool streaming) {
    if (streaming)
        stream_bytes(target, source, bytes);
    else
        std::memcpy(target, source, bytes);
}

/// True where all runs of the target begin at the same distance from a line of the cache.
inline bool has_even_rows(affine_copy const& copy) {
    for (std::size_t axis = 0; axis + 1 < copy.ndim(); ++axis)
        if (copy.target_strides[axis] % index_t{line_bytes} != 0)
            return false;
    return true;
}

RESHARD_DECL bool streams_rows(affine_copy const& copy, std::size_t run, memory const& at) {
    bool const has_whole_lines = run % line_bytes == 0 && has_even_rows(copy) &&
                                 bytes_to_line(at.target + copy.target_offset) == 0;
    return at.streaming && (run >= 1024 || has_whole_lines);
}

RESHARD_DECL tiling tiles_for(affine_copy const& copy, element_sizes sizes, memory const& at) {
    auto const head = static_cast<index_t>(bytes_to_line(at.target + copy.target_offset));
    bool const is_even = at.streaming && has_even_rows(copy) && head % sizes.target == 0;
    tile_extent const largest =
        is_even ? narrow_tile(sizes.source, sizes.target) : wide_tile(sizes.source);
    bool const has_head = is_even && head > 0;
    return {largest, has_head ? head / sizes.target : largest.width, lines_at_once(sizes.source)};
}

} // namespace detail

} // namespace reshard

#endif
