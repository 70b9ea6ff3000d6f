// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_SAME_ELEMENTS_IPP
#define RESHARD_EXPR_IMPL_SAME_ELEMENTS_IPP

#include <reshard/core/vector.hpp>
#include <reshard/expr/check.hpp>

#include <reshard/expr/cut_piece.hpp>

#include <cstddef>
#include <utility>

/// \file
/// Compares the elements of two tensors whose pieces may be cut differently.

namespace reshard::detail {

/// The fewest loops over a piece's elements in the order of the target, as extents and distances in
/// the source.
inline vector<std::pair<index_t, index_t>> loops_of(piece const& p, index_vector const& from) {
    index_vector const steps = p.order.apply(
        factor_strides(row_major_strides(from), p.order.undo(p.extent), p.joins.source));
    vector<std::pair<index_t, index_t>> loops;
    for (std::size_t k = p.extent.size(); k-- > 0;) {
        if (p.extent[k] == 1)
            continue;
        if (!loops.empty() && loops.back().second * loops.back().first == steps[k])
            loops.back().first *= p.extent[k];
        else
            loops.emplace_back(p.extent[k], steps[k]);
    }
    return loops;
}

/// Whether two pieces read the same elements of a source of shape `from` for the box that they
/// share.
inline bool reads_same_elements(piece const& a, piece const& b, index_vector const& from) {
    auto const common = intersect(a.target_box(), b.target_box());
    if (!common)
        return true;
    if (a.target_box() == *common && b.target_box() == *common)
        return linear_offset(a.source_offset, row_major_strides(from)) ==
                   linear_offset(b.source_offset, row_major_strides(from)) &&
               loops_of(a, from) == loops_of(b, from);
    bool is_identical = true;
    cut_to_target(a, *common, [&](piece const& of_a) {
        cut_to_target(b, of_a.target_box(), [&](piece const& of_b) {
            is_identical = is_identical && reads_same_elements(of_a, of_b, from);
        });
    });
    return is_identical;
}

/// Whether a tensor has the expected elements, perhaps in another data type.
inline bool is_made_as(expression const& expected, expression const& expression,
                       source_list const& sources) {
    if (expected.shape != expression.shape)
        return false;
    if (expected.pieces == expression.pieces)
        return true;
    for (std::size_t i = 0; i < expected.pieces.size(); ++i)
        for (std::size_t k = 0; k < expression.pieces.size(); ++k) {
            if (expected.pieces.source(i) == zero_source ||
                !intersect(expected.pieces.target_box(i), expression.pieces.target_box(k)))
                continue;
            if (expected.pieces.source(i) != expression.pieces.source(k) ||
                !reads_same_elements(expected.pieces[i], expression.pieces[k],
                                     sources[expression.pieces.source(k)].shape))
                return false;
        }
    return true;
}

} // namespace reshard::detail

#endif
