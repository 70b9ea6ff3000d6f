// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_EXPRESSION_HPP
#define RESHARD_EXPR_EXPRESSION_HPP

#include <reshard/core/index_vector.hpp>
#include <reshard/expr/piece_list.hpp>

#include <cstddef>

/// \file
/// The values of the algebra: an expression describes a tensor that is made of source tensors.

namespace reshard {

/// The shape and data type of a tensor and, for each of its elements, the source element.
///
/// \invariant the target boxes of `pieces` share no elements and cover `whole(shape)`; no box is
///            empty
struct expression {
    detail::packed_vector shape;
    data_type dtype{};
    detail::piece_list pieces;

    constexpr std::size_t ndim() const { return shape.size(); }

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.shape, self.dtype, self.pieces);
    }

    constexpr bool operator==(expression const&) const = default;
};

/// Checks an expression by itself; the mapping checks that the pieces cover the tensor.
///
/// \throws error with errc::bad_layout if the pieces have another number of axes than the tensor
constexpr void validate(expression const& value) {
    if (value.pieces.ndim() != value.shape.size())
        fail(errc::bad_layout, "it has pieces of ", detail::counted(value.pieces.ndim(), "axis"),
             " for a tensor of shape ", value.shape);
}

namespace detail {

/// A tensor with the elements of one source, at the same indices. A tensor without elements has no
/// piece.
constexpr expression one_piece(key_id source, index_vector const& shape, data_type dtype) {
    if (is_empty(whole(shape)))
        return {shape, dtype, piece_list(shape.size())};
    return {shape, dtype, piece_list::whole_of(source, shape, dtype)};
}

/// \throws error with errc::shape_mismatch when the tensor has no such axis
constexpr void check_axis(expression const& tensor, std::size_t axis) {
    if (axis >= tensor.ndim())
        fail(errc::shape_mismatch, "axis ", axis, " is out of range for a tensor of ",
             counted(tensor.ndim(), "axis"), ", shape ", tensor.shape);
}

/// Source tensor number `source`, whole and unchanged.
constexpr expression source_tensor(key_id source, index_vector const& shape, data_type dtype) {
    return one_piece(source, shape, dtype);
}

} // namespace detail

/// A tensor of zeros.
constexpr expression zeros(index_vector const& shape, data_type dtype) {
    return detail::one_piece(detail::zero_source, shape, dtype);
}

namespace detail {

/// Whether the expression is one box of one source tensor, with its axes in order and not cast.
///
/// The box may be smaller than the source tensor: an expression does not know the source's shape.
/// So a result of `split` is such a box, too. A tensor without elements is not a box.
constexpr bool is_source_box(expression const& tensor) {
    if (tensor.pieces.size() != 1 || tensor.pieces.source(0) == zero_source)
        return false;
    piece const only = tensor.pieces[0];
    return only.order == permutation::identity(tensor.ndim()) && !only.joins.any() &&
           only.steps.empty();
}

} // namespace detail

} // namespace reshard

#endif
