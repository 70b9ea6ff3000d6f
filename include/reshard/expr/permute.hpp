// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_PERMUTE_HPP
#define RESHARD_EXPR_PERMUTE_HPP

#include <reshard/expr/expression.hpp>

#include <cstddef>

/// \file
/// The axes of a tensor in another order.

namespace reshard {

/// The tensor whose axis `j` is axis `order[j]` of `tensor`.
///
/// \pre `order` is an order of `tensor.ndim()` axes, as `permutation::of` and `identity` make them
constexpr expression permute(expression const& tensor, permutation order) {
    expression result{order.apply(tensor.shape), tensor.dtype, piece_list(tensor.ndim())};
    result.pieces.reserve(tensor.pieces.size());
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i) {
        piece turned = tensor.pieces[i];
        turned.order = turned.order.then(order, tensor.ndim());
        turned.target_offset = order.apply(turned.target_offset);
        turned.extent = order.apply(turned.extent);
        result.pieces.push_back(turned);
    }
    return result;
}

/// The same with the axes as numbers.
///
/// \throws     error with errc::shape_mismatch unless `axes` names each axis of `tensor` once
/// \par Source the permute attribute of AOA; there nothing is checked, and negative or repeated
///             axes move the wrong elements
constexpr expression permute(expression const& tensor, index_vector const& axes) {
    return permute(tensor, permutation::of(axes, tensor.ndim()));
}

/// All axes in reverse order.
///
/// \par Source `x^T` of AOA, which reverses all axes, not only two
constexpr expression transpose(expression const& tensor) {
    return permute(tensor, permutation::reversed(tensor.ndim()));
}

} // namespace reshard

#endif
