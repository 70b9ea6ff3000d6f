// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_SLICE_HPP
#define RESHARD_EXPR_SLICE_HPP

#include <reshard/core/vector.hpp>
#include <reshard/expr/cut_piece.hpp>
#include <reshard/expr/expression.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

/// \file
/// A box of a tensor.

namespace reshard {

namespace detail {

/// The elements `[first, last)` of an axis; all elements from `first` on if `last` is not set.
struct axis_range {
    index_t first = 0;
    std::optional<index_t> last = {};

    constexpr bool operator==(axis_range const&) const = default;
};

} // namespace detail

/// `2:5`, or `2:` if `last` is not set.
inline std::string to_string(detail::axis_range const& range) {
    return std::to_string(range.first) + ':' + (range.last ? std::to_string(*range.last) : "");
}

namespace detail {

/// The box that one range for each axis selects from a tensor.
///
/// \throws the errors of `slice`
constexpr box region_of(expression const& tensor, std::span<axis_range const> ranges) {
    if (ranges.size() != tensor.ndim())
        fail(errc::shape_mismatch, "the number of ranges is ", ranges.size(), ", but the shape ",
             tensor.shape, " has ", counted(tensor.ndim(), "axis"),
             "; give one range for each axis");
    box region;
    for (std::size_t axis = 0; axis < ranges.size(); ++axis) {
        index_t const extent = tensor.shape[axis], first = ranges[axis].first;
        index_t const last = ranges[axis].last.value_or(extent);
        if (first < 0 || first > last || last > extent)
            fail(errc::shape_mismatch, "axis ", axis, " has the extent ", extent, ", but ",
                 to_string(ranges[axis]),
                 " is not a range within it; bounds count from 0, and the lower one comes first");
        region.offset.push_back(first);
        region.shape.push_back(last - first);
    }
    return region;
}

} // namespace detail

/// The box of `tensor` that one range for each axis selects.
///
/// ```
/// expression const upper_left = slice(w, {{0, 128}, {0, 64}});
/// expression const lower_rows = slice(w, {{128}, {}});
/// ```
///
/// \par Shape  each result extent is `last - first`
/// \par Units  elements
/// \throws     error with errc::shape_mismatch unless there is one range for each axis, and each
///             range lies in its axis and does not end before it begins
/// \par Source the slice attribute of AOA, which PaddlePaddle does not have. Bounds are as in
///             Python, except that bounds outside the axis are refused: Python clamps them
constexpr expression slice(expression const& tensor, std::span<detail::axis_range const> ranges) {
    box const region = detail::region_of(tensor, ranges);
    expression result{region.shape, tensor.dtype, detail::piece_list(tensor.ndim())};
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i) {
        piece const whole_piece = tensor.pieces[i];
        if (auto const common = intersect(whole_piece.target_box(), region))
            detail::cut_to_target(whole_piece, *common, [&](piece p) {
                for (std::size_t axis = 0; axis < region.ndim(); ++axis)
                    p.target_offset[axis] -= region.offset[axis];
                result.pieces.push_back(p);
            });
    }
    return result;
}

/// The same for ranges in braces.
constexpr expression slice(expression const& tensor,
                           std::initializer_list<detail::axis_range> ranges) {
    return slice(tensor, std::span<detail::axis_range const>(ranges.begin(), ranges.size()));
}

namespace detail {

/// \throws error with errc::shape_mismatch unless `shape` is a valid shape with the tensor's number
///         of axes
constexpr void check_resize(expression const& tensor, index_vector const& shape) {
    if (shape.size() != tensor.ndim())
        fail(errc::shape_mismatch, "the number of extents is ", shape.size(), ", but the shape ",
             tensor.shape, " has ", counted(tensor.ndim(), "axis"),
             "; give one extent for each axis");
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        if (shape[axis] < 0)
            fail(errc::shape_mismatch, "axis ", axis, " has the extent ", tensor.shape[axis],
                 ", and cannot be resized to the extent ", shape[axis]);
}

/// Adds zeros for all elements outside `kept`, the shape of the box at offset 0: at most one box
/// for each axis.
constexpr void add_margins(expression& tensor, index_vector const& kept) {
    box margin = whole(kept);
    for (std::size_t axis = 0; axis < kept.size(); ++axis) {
        margin.offset[axis] = kept[axis];
        margin.shape[axis] = tensor.shape[axis] - kept[axis];
        if (!is_empty(margin)) {
            piece zero = zeros(margin.shape, tensor.dtype).pieces[0];
            zero.target_offset = margin.offset;
            tensor.pieces.push_back(zero);
        }
        margin.offset[axis] = 0;
        margin.shape[axis] = tensor.shape[axis];
    }
}

} // namespace detail

/// The tensor of shape `shape` with the elements of `tensor` at common indices, and zeros
/// elsewhere.
///
/// Each axis is cropped or extended at its tail, for example to pad a vocabulary to a multiple of
/// the number of ranks.
///
/// \par Units  elements
/// \throws     error with errc::shape_mismatch unless there is one extent for each axis and no
///             extent is negative; errc::overflow if the result has too many elements
/// \par Source the resize attribute of AOA, which PaddlePaddle does not have
constexpr expression resize(expression const& tensor, index_vector const& shape) {
    detail::check_resize(tensor, shape);
    vector<detail::axis_range> both;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        both.push_back({0, std::min(shape[axis], tensor.shape[axis])});
    expression result = slice(tensor, both);
    index_vector const kept = result.shape;
    result.shape = shape;
    element_count(shape);
    detail::add_margins(result, kept);
    return result;
}

} // namespace reshard

#endif
