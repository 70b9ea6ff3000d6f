// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_CUT_LOOP_HPP
#define RESHARD_COPY_CUT_LOOP_HPP

#include <reshard/copy/affine_copy.hpp>
#include <reshard/core/data_type.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

/// \file
/// Cuts loops over memory of which only one window is available at a time.

namespace reshard::detail {

/// Selects the source or the target of a loop.
struct loop_side {
    index_t affine_copy::*offset;
    index_vector affine_copy::*strides;
};

inline constexpr loop_side source_of_loop{&affine_copy::source_offset,
                                          &affine_copy::source_strides};
inline constexpr loop_side target_of_loop{&affine_copy::target_offset,
                                          &affine_copy::target_strides};

/// The range of positions on one side of a loop, from `first` to `end - 1`. The loop may skip some
/// of them.
struct loop_span {
    index_t first = 0;
    index_t end = 0;
};

/// \pre the loop has elements
constexpr loop_span span_of(affine_copy const& loop, loop_side side) {
    loop_span span{loop.*side.offset, loop.*side.offset + 1};
    for (std::size_t axis = 0; axis < loop.ndim(); ++axis) {
        index_t const reach = (loop.extent[axis] - 1) * (loop.*side.strides)[axis];
        (reach < 0 ? span.first : span.end) += reach;
    }
    return span;
}

/// The bytes of the elements on one side of a loop, with the gaps between them.
struct byte_range {
    index_t first = 0; ///< of the bytes, from the base address
    index_t bytes = 0;
    index_t offset = 0; ///< of the loop's first element, in elements from `first`
};

/// \pre the loop has elements
constexpr byte_range byte_range_of(affine_copy const& loop, loop_side side, data_type dtype) {
    loop_span const span = span_of(loop, side);
    byte_place const first = byte_place_of(span.first, dtype);
    index_t const offset = loop.*side.offset - span.first + first.rest;
    return {first.bytes, byte_count(span.end - span.first + first.rest, dtype), offset};
}

/// `count` rows of a loop along an axis, from row `first` on.
constexpr affine_copy rows_of(affine_copy loop, std::size_t axis, index_t first, index_t count) {
    loop.source_offset += first * loop.source_strides[axis];
    loop.target_offset += first * loop.target_strides[axis];
    loop.extent[axis] = count;
    return loop;
}

/// The same pairs of positions, in an order in which no stride of `side` is negative.
constexpr affine_copy forwards(affine_copy loop, loop_side side) {
    for (std::size_t axis = 0; axis < loop.ndim(); ++axis)
        if ((loop.*side.strides)[axis] < 0) {
            loop = rows_of(loop, axis, loop.extent[axis] - 1, loop.extent[axis]);
            loop.source_strides[axis] *= -1;
            loop.target_strides[axis] *= -1;
        }
    return loop;
}

/// The axis with the largest stride on one side, among the axes with more than one row.
constexpr std::size_t widest_axis(affine_copy const& loop, loop_side side) {
    std::size_t widest = 0;
    for (std::size_t axis = 1; axis < loop.ndim(); ++axis)
        if (loop.extent[widest] == 1 ||
            (loop.extent[axis] > 1 && (loop.*side.strides)[axis] > (loop.*side.strides)[widest]))
            widest = axis;
    return widest;
}

/// The number of rows along `axis` whose positions on one side are all before `end`.
constexpr index_t rows_before(affine_copy const& loop, loop_side side, std::size_t axis,
                              index_t end) {
    index_t const room = end - span_of(rows_of(loop, axis, 0, 1), side).end;
    return room < 0 ? 0 : room / (loop.*side.strides)[axis] + 1;
}

/// Cuts a loop into parts, such that the positions of each part on one side lie in one window.
/// Window `i` has the `window` positions from `i * window` on. Calls `take(i, part)` for each part.
/// If the loop is row-major on that side, its parts are in row-major order.
///
/// \pre the positions on that side are not negative
void cut_to_windows(affine_copy loop, loop_side side, index_t window, auto&& take) {
    if (element_count(loop) == 0)
        return;
    loop = forwards(loop, side);
    while (true) {
        loop_span const span = span_of(loop, side);
        index_t const number = span.first / window;
        index_t const end = (number + 1) * window;
        if (span.end <= end)
            return take(number, loop);
        std::size_t const axis = widest_axis(loop, side);
        index_t const rows = std::max<index_t>(1, rows_before(loop, side, axis, end));
        cut_to_windows(rows_of(loop, axis, 0, rows), side, window, take);
        loop = rows_of(loop, axis, rows, loop.extent[axis] - rows);
    }
}

/// Cuts a loop into halves, the axis that reaches furthest on one side first, until `fits(part)` or
/// until a part has one element. Calls `take(part)` for each part.
void cut_in_halves(affine_copy const& loop, loop_side side, auto const& fits, auto const& take) {
    if (element_count(loop) <= 1 || fits(loop))
        return take(loop);
    auto const reach = [&](std::size_t axis) {
        return std::pair((loop.extent[axis] - 1) * magnitude((loop.*side.strides)[axis]),
                         loop.extent[axis]);
    };
    std::size_t furthest = 0;
    for (std::size_t axis = 1; axis < loop.ndim(); ++axis)
        if (reach(axis) > reach(furthest))
            furthest = axis;
    index_t const half = loop.extent[furthest] / 2;
    cut_in_halves(rows_of(loop, furthest, 0, half), side, fits, take);
    cut_in_halves(rows_of(loop, furthest, half, loop.extent[furthest] - half), side, fits, take);
}

} // namespace reshard::detail

#endif
