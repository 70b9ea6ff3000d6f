// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_IMPL_LOOPS_IPP
#define RESHARD_COPY_IMPL_LOOPS_IPP

#include <reshard/copy/loops.hpp>

namespace reshard::detail {

/// True if all runs of the target have the same offset from a cache line.
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

RESHARD_DECL void for_each_tile(affine_copy const& copy, tiling const& tiles,
                                visitor<tile_extent, index_t, index_t> visit) {
    std::size_t const across = copy.ndim() - 2;
    std::size_t const along = copy.ndim() - 1;
    auto const visit_places = [&](index_t source, index_t target) {
        auto const visit_tile = [&](index_t i, index_t i_end, index_t j, index_t j_end) {
            visit(tile_extent{i_end - i, j_end - j},
                  source + i * copy.source_strides[across] + j * copy.source_strides[along],
                  target + i * copy.target_strides[across] + j * copy.target_strides[along]);
        };
        for_each_piece(
            copy.extent[across], tiles.band, tiles.band, [&](index_t top, index_t bottom) {
                for_each_piece(copy.extent[along], tiles.first, tiles.largest.width,
                               [&](index_t j, index_t j_end) {
                                   for (index_t i = top; i < bottom; i += tiles.largest.lines)
                                       visit_tile(i, std::min(i + tiles.largest.lines, bottom), j,
                                                  j_end);
                               });
            });
    };
    for_each_place(copy, across, place_visitor(visit_places));
}

} // namespace reshard::detail

#endif
