// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_SLICE_HPP
#define RESHARD_EXPR_SLICE_HPP

#include <reshard/expr/cut_piece.hpp>
#include <reshard/expr/expression.hpp>

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

/// \file
/// A box of a tensor.

namespace reshard {

namespace detail {

/// The elements `[first, last)` of an axis; without `last`, all from `first` on.
struct axis_range {
    index_t first = 0;
    std::optional<index_t> last = {};

    constexpr bool operator==(axis_range const&) const = default;
};

} // namespace detail

/// `2:5`, or `2:` without `last`.
inline std::string to_string(detail::axis_range const& range) {
    return std::to_string(range.first) + ':' + (range.last ? std::to_string(*range.last) : "");
}

namespace detail {

/// The box that one range an axis cuts out of a tensor.
///
/// \throws error with errc::shape_mismatch as `slice` does
constexpr box region_of(expression const& tensor, std::span<axis_range const> ranges) {
    if (ranges.size() != tensor.ndim())
        fail(errc::shape_mismatch, "there are " + std::to_string(ranges.size()) +
                                       " ranges, and the shape " + to_string(tensor.shape) +
                                       " has " + axis_count(tensor.ndim()) +
                                       "; give one for each axis");
    box region;
    for (std::size_t axis = 0; axis < ranges.size(); ++axis) {
        index_t const extent = tensor.shape[axis], first = ranges[axis].first;
        index_t const last = ranges[axis].last.value_or(extent);
        if (first < 0 || first > last || last > extent)
            fail(errc::shape_mismatch,
                 "axis " + std::to_string(axis) + " has the extent " + std::to_string(extent) +
                     ", and " + to_string(ranges[axis]) +
                     " is no range of it; bounds count from 0, and the lower one comes first");
        region.offset.push_back(first);
        region.shape.push_back(last - first);
    }
    return region;
}

} // namespace detail

/// The box of `tensor` that has, along each axis, the elements of its range.
///
/// ```
/// expression const upper_left = slice(w, {{0, 128}, {0, 64}});
/// expression const lower_rows = slice(w, {{128}, {}});
/// ```
///
/// \par Shape  each result extent is `last - first`
/// \par Units  elements
/// \throws     error with errc::shape_mismatch unless there is one range for each axis, and for a
///             range that exceeds its axis or ends before it begins
/// \par Source the slice attribute of AOA, which PaddlePaddle does not have. Bounds are those of
///             Python; but there bounds outside the axis are moved to its ends, here refused
constexpr expression slice(expression const& tensor, std::span<detail::axis_range const> ranges) {
    box const region = detail::region_of(tensor, ranges);
    expression result{region.shape, tensor.dtype, detail::piece_list(tensor.ndim())};
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i) {
        piece const whole = tensor.pieces[i];
        if (auto const common = intersect(whole.target_box(), region))
            detail::cut_to_target(whole, *common, [&](piece p) {
                for (std::size_t axis = 0; axis < region.ndim(); ++axis)
                    p.target_offset[axis] -= region.offset[axis];
                result.pieces.push_back(p);
            });
    }
    return result;
}

/// The same for ranges that are written out.
constexpr expression slice(expression const& tensor,
                           std::initializer_list<detail::axis_range> ranges) {
    return slice(tensor, std::span<detail::axis_range const>(ranges.begin(), ranges.size()));
}

} // namespace reshard

#endif
