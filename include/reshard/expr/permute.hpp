// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_PERMUTE_HPP
#define RESHARD_EXPR_PERMUTE_HPP

#include <reshard/expr/expression.hpp>

#include <cstddef>

/// \file
/// Permutes the axes of a tensor.

namespace reshard {

namespace detail {

/// The factors of a target, in the order of the permuted axes.
constexpr index_vector factors_in_order(piece const& p, permutation order) {
    index_vector factors;
    for (std::size_t j = 0; j < p.target_offset.size(); ++j)
        for (std::size_t k = 0, axis = 0; k < p.extent.size(); ++k) {
            axis += k > 0 && !is_joined(p.joins.target, k);
            if (axis == order[j])
                factors.push_back(static_cast<index_t>(k));
        }
    return factors;
}

/// The piece after the axes of its target are permuted.
constexpr piece permuted(piece p, permutation order) {
    if (p.target_offset.empty())
        return p;
    permutation factors = order;
    if (p.joins.target != 0) {
        index_vector const wanted = factors_in_order(p, order);
        unsigned joins = 0;
        for (std::size_t k = 0; k < wanted.size(); ++k)
            joins |= (is_joined(p.joins.target, static_cast<std::size_t>(wanted[k])) ? 1u : 0u)
                     << k;
        p.joins.target = static_cast<std::uint8_t>(joins);
        factors = permutation::of(wanted, wanted.size());
    }
    p.order = p.order.then(factors, p.extent.size());
    p.target_offset = order.apply(p.target_offset);
    p.extent = factors.apply(p.extent);
    return p;
}

} // namespace detail

/// The tensor whose axis `j` is axis `order[j]` of `tensor`.
///
/// \pre `order` is a permutation of `tensor.ndim()` axes, from `permutation::of` or `identity`
constexpr expression permute(expression const& tensor, permutation order) {
    expression result{order.apply(tensor.shape), tensor.dtype, detail::piece_list(tensor.ndim())};
    result.pieces.reserve(tensor.pieces.size());
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i) {
        result.pieces.push_back(detail::permuted(tensor.pieces[i], order));
    }
    return result;
}

/// The same for axes as numbers.
///
/// \throws     error with errc::shape_mismatch unless `axes` names each axis of `tensor` once
/// \par Source the permute attribute of AOA, which checks nothing: negative or repeated axes move
///             the wrong elements
constexpr expression permute(expression const& tensor, index_vector const& axes) {
    return permute(tensor, permutation::of(axes, tensor.ndim()));
}

/// Reverses the order of all axes.
///
/// \par Source `x^T` of AOA, which reverses all axes, not only two
constexpr expression transpose(expression const& tensor) {
    return permute(tensor, permutation::reversed(tensor.ndim()));
}

} // namespace reshard

#endif
