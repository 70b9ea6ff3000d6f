// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_RESIZE_HPP
#define RESHARD_EXPR_RESIZE_HPP

#include <reshard/expr/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

/// \file
/// A tensor with other extents: cropped, or extended with zeros, at the tail of each axis.

namespace reshard {

namespace detail {

/// \throws error with errc::shape_mismatch unless `shape` is one of a tensor of as many axes
constexpr void check_resize(expression const& tensor, index_vector const& shape) {
    if (shape.size() != tensor.ndim())
        fail(errc::shape_mismatch, "there are " + std::to_string(shape.size()) +
                                       " extents, and the shape " + to_string(tensor.shape) +
                                       " has " + axis_count(tensor.ndim()) +
                                       "; give one for each axis");
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        if (shape[axis] < 0)
            fail(errc::shape_mismatch, "axis " + std::to_string(axis) + " has the extent " +
                                           std::to_string(tensor.shape[axis]) +
                                           ", and cannot have the extent " +
                                           std::to_string(shape[axis]));
}

/// Adds zeros for all elements that `kept`, the box of that shape at the beginning, does not have:
/// a box an axis at most.
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

/// The tensor of that shape that agrees with `tensor` where both have elements, and is zero
/// elsewhere.
///
/// Each axis is cropped or extended at its tail, as a vocabulary is padded to a multiple of the
/// ranks.
///
/// \par Units  elements
/// \throws     error with errc::shape_mismatch unless there is one extent for each axis, none of
///             them negative; errc::overflow where the result has too many elements
/// \par Source the resize attribute of AOA, which PaddlePaddle does not have
constexpr expression resize(expression const& tensor, index_vector const& shape) {
    detail::check_resize(tensor, shape);
    std::vector<detail::axis_range> both;
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
