// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_LOOPS_HPP
#define RESHARD_COPY_LOOPS_HPP

#include <reshard/copy/affine_copy.hpp>
#include <reshard/copy/stream_lines.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

/// \file
/// The loops around every kernel.

namespace reshard::detail {

/// The extents of a tile in elements: lines of the target, and along them.
struct tile_extent {
    index_t lines;
    index_t width;
};

/// Enough bytes for every tile; together with the bytes that are read they fit the nearest cache.
inline constexpr index_t tile_bytes = 16384;

/// The tile for writing whole lines of the cache with non-temporal stores.
///
/// Its width fills a line of the cache on the target's side, or two. It reads a few lines of the
/// cache from each line of the source: more than 16 of these would evict each other if the source's
/// pitch is a power of two, and fewer leave the processor waiting for one of them.
constexpr tile_extent narrow_tile(index_t size, index_t target_size) {
    constexpr auto line = static_cast<index_t>(line_bytes);
    return {(size >= 8 ? 1 : 4) * line / size,
            std::max<index_t>(16, line / std::min(size, target_size))};
}

/// The tile for all other targets: long pieces, of which only the ends share a line of the cache.
constexpr tile_extent wide_tile(index_t size) {
    index_t const width = size < 4 ? 128 : 64;
    return {tile_bytes / (width * size), width};
}

/// How many lines of the target are walked before the next tile along them.
///
/// A page's worth of every line of the source, and no more lines of the target than there are
/// places for pages in the processor's second translation buffer: beyond that each piece of a line
/// costs a walk.
constexpr index_t lines_at_once(index_t size) { return std::min<index_t>(4096 / size, 2048); }

/// Where a kernel reads and writes, and whether its stores are non-temporal.
struct memory {
    unsigned char const* source;
    unsigned char* target;
    bool streaming;
};

/// The size of an element on either side.
struct element_sizes {
    index_t source;
    index_t target;
};

/// The same copy counted in units of which the elements have `sizes`.
constexpr affine_copy scaled(affine_copy copy, element_sizes sizes) {
    copy.source_offset *= sizes.source;
    copy.target_offset *= sizes.target;
    for (std::size_t axis = 0; axis < copy.ndim(); ++axis) {
        copy.source_strides[axis] *= sizes.source;
        copy.target_strides[axis] *= sizes.target;
    }
    return copy;
}

/// The same copy with `axis` moved to the second last place.
///
/// \pre `axis + 1 < copy.ndim()`
constexpr affine_copy with_second_last(affine_copy copy, std::size_t axis) {
    BOOST_ASSERT(axis + 1 < copy.ndim());
    for (index_vector* const numbers : {&copy.extent, &copy.source_strides, &copy.target_strides})
        std::rotate(numbers->begin() + axis, numbers->begin() + axis + 1, numbers->end() - 1);
    return copy;
}

/// The same copy with axes of extent 1 before the others, until there are `ndim`.
constexpr affine_copy with_axes(affine_copy const& copy, std::size_t ndim) {
    affine_copy padded{{}, copy.source_offset, {}, copy.target_offset, {}};
    while (padded.ndim() + copy.ndim() < ndim)
        push_axis(padded, {1, 1, 1});
    for (std::size_t axis = 0; axis < copy.ndim(); ++axis)
        push_axis(padded,
                  {copy.extent[axis], copy.source_strides[axis], copy.target_strides[axis]});
    return padded;
}

/// The function for each element or tile: one loop serves every kind of it.
///
/// \pre it is not called after `visit` has gone
template <class... Arguments>
class visitor {
public:
    template <class Visit>
    visitor(Visit const& visit)
        : what_(&visit), call_([](void const* object, Arguments... arguments) {
              (*static_cast<Visit const*>(object))(arguments...);
          }) {}

    void operator()(Arguments... arguments) const { call_(what_, arguments...); }

private:
    void const* what_;
    void (*call_)(void const*, Arguments...);
};

using place_visitor = visitor<index_t, index_t>;

/// Calls `visit(source_offset, target_offset)` for every index of the first `axes` axes, the last
/// of them running fastest.
///
/// \pre no extent is zero
void for_each_place(affine_copy const& copy, std::size_t axes, auto visit) {
    index_t position[max_ndim] = {};
    index_t source = copy.source_offset;
    index_t target = copy.target_offset;
    for (;;) {
        visit(source, target);
        std::size_t axis = axes;
        for (; axis > 0; --axis) {
            std::size_t const i = axis - 1;
            source += copy.source_strides[i];
            target += copy.target_strides[i];
            if (++position[i] < copy.extent[i])
                break;
            source -= copy.source_strides[i] * copy.extent[i];
            target -= copy.target_strides[i] * copy.extent[i];
            position[i] = 0;
        }
        if (axis == 0)
            return;
    }
}

/// Calls `visit(begin, end)` for pieces of `0 .. extent`, each `piece` long but the first and the
/// last; the first is `first` long.
void for_each_piece(index_t extent, index_t first, index_t piece, auto visit) {
    for (index_t begin = 0, end = std::min(first, extent); begin < extent;
         begin = end, end = std::min(end + piece, extent))
        visit(begin, end);
}

/// True if runs of `run` bytes are written faster with non-temporal stores: whole lines, or long
/// enough for their ends not to matter.
///
/// \par Units strides and offsets in bytes
RESHARD_DECL bool streams_rows(affine_copy const& copy, std::size_t run, memory const& at);

/// How the last two axes are cut into tiles.
struct tiling {
    tile_extent largest;
    index_t first; ///< the width of the first tile along a line
    index_t band;  ///< how many lines are walked before the next tile along them
};

/// Tiles that begin at lines of the cache if that is possible and wanted.
///
/// \par Units strides and offsets in bytes
RESHARD_DECL tiling tiles_for(affine_copy const& copy, element_sizes sizes, memory const& at);

/// Calls `visit(extent, source, target)` for tiles of the last two axes, and all before them.
///
/// Walks a band of target lines tile by tile: first across the lines, then along them.
RESHARD_DECL void for_each_tile(affine_copy const& copy, tiling const& tiles,
                                visitor<tile_extent, index_t, index_t> visit);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/copy/impl/loops.ipp>
#endif

#endif
