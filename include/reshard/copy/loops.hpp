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
/// The loops that call the kernels.

namespace reshard::detail {

/// The extents of a tile in elements: the number of target lines, and the elements of each.
struct tile_extent {
    index_t lines;
    index_t width;
};

/// Enough bytes for every tile. Tile and source bytes together fit the first-level cache.
inline constexpr index_t tile_bytes = 16384;

/// The tile for writing whole cache lines with non-temporal stores.
///
/// Its width fills one or two cache lines of the target. It reads a few cache lines from each
/// source line. If the source's pitch is a power of two, more than 16 source lines would evict each
/// other from the cache. With fewer, the processor would wait for memory.
constexpr tile_extent narrow_tile(index_t size, index_t target_size) {
    constexpr auto line = static_cast<index_t>(line_bytes);
    return {(size >= 8 ? 1 : 4) * line / size,
            std::max<index_t>(16, line / std::min(size, target_size))};
}

/// The tile for all other targets: long pieces; only their ends share a cache line.
constexpr tile_extent wide_tile(index_t size) {
    index_t const width = size < 4 ? 128 : 64;
    return {tile_bytes / (width * size), width};
}

/// The number of target lines in a band. Tiles cover a whole band before they advance along the
/// lines.
///
/// A band uses at most the bytes of one page of each source line. It has at most as many target
/// lines as the processor's second-level TLB has entries: with more, each piece of a line would
/// cost a page walk.
constexpr index_t lines_at_once(index_t size) { return std::min<index_t>(4096 / size, 2048); }

/// The addresses that a kernel reads and writes, and whether its stores are non-temporal.
struct memory {
    unsigned char const* source;
    unsigned char* target;
    bool streaming;
};

/// The size of a source element and of a target element.
struct element_sizes {
    index_t source;
    index_t target;
};

/// The same copy in other units; `sizes` are the sizes of an element in these units.
constexpr affine_copy scaled(affine_copy copy, element_sizes sizes) {
    copy.source_offset *= sizes.source;
    copy.target_offset *= sizes.target;
    for (std::size_t axis = 0; axis < copy.ndim(); ++axis) {
        copy.source_strides[axis] *= sizes.source;
        copy.target_strides[axis] *= sizes.target;
    }
    return copy;
}

/// The same copy with `axis` moved to the position before the last axis.
///
/// \pre `axis + 1 < copy.ndim()`
constexpr affine_copy with_second_last(affine_copy copy, std::size_t axis) {
    BOOST_ASSERT(axis + 1 < copy.ndim());
    for (index_vector* const numbers : {&copy.extent, &copy.source_strides, &copy.target_strides})
        std::rotate(numbers->begin() + axis, numbers->begin() + axis + 1, numbers->end() - 1);
    return copy;
}

/// The same copy with axes of extent 1 in front, such that there are at least `ndim` axes.
constexpr affine_copy with_axes(affine_copy const& copy, std::size_t ndim) {
    affine_copy padded{{}, copy.source_offset, {}, copy.target_offset, {}};
    while (padded.ndim() + copy.ndim() < ndim)
        push_axis(padded, {1, 1, 1});
    for (std::size_t axis = 0; axis < copy.ndim(); ++axis)
        push_axis(padded,
                  {copy.extent[axis], copy.source_strides[axis], copy.target_strides[axis]});
    return padded;
}

/// A reference to a function for elements or tiles, so that one compiled loop serves all functions.
///
/// \pre it is called only during the lifetime of `visit`
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

/// Calls `visit(source_offset, target_offset)` for every index of the first `axes` axes. The last
/// of them runs fastest.
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

/// Calls `visit(begin, end)` for pieces of `0 .. extent`. The first piece has the length `first`
/// and the others have the length `piece`; the last may be shorter.
void for_each_piece(index_t extent, index_t first, index_t piece, auto visit) {
    for (index_t begin = 0, end = std::min(first, extent); begin < extent;
         begin = end, end = std::min(end + piece, extent))
        visit(begin, end);
}

/// True if non-temporal stores are requested and faster for runs of `run` bytes: the runs are whole
/// cache lines, or so long that their ends do not matter.
///
/// \par Units strides and offsets in bytes
RESHARD_DECL bool streams_rows(affine_copy const& copy, std::size_t run, memory const& at);

/// How the last two axes are divided into tiles.
struct tiling {
    tile_extent largest;
    index_t first; ///< the width of the first tile along a line
    index_t band;  ///< the number of target lines in a band
};

/// Tiles that begin at cache lines, if that is possible and non-temporal stores are requested.
///
/// \par Units strides and offsets in bytes
RESHARD_DECL tiling tiles_for(affine_copy const& copy, element_sizes sizes, memory const& at);

/// Calls `visit(extent, source, target)` for each tile of the last two axes, at each index of the
/// axes before them.
///
/// Goes through a band of target lines tile by tile: first across the lines, then along them.
RESHARD_DECL void for_each_tile(affine_copy const& copy, tiling const& tiles,
                                visitor<tile_extent, index_t, index_t> visit);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/copy/impl/loops.ipp>
#endif

#endif
