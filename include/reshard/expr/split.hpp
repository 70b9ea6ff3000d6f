// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_SPLIT_HPP
#define RESHARD_EXPR_SPLIT_HPP

#include <reshard/core/vector.hpp>
#include <reshard/expr/cut_piece.hpp>
#include <reshard/expr/expression.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

/// \file
/// Splits a tensor into several tensors along an axis.

namespace reshard {

namespace detail {

/// \throws error with errc::shape_mismatch unless the sizes add up to the extent of the axis
constexpr void check_sizes(expression const& tensor, std::size_t axis,
                           std::span<index_t const> sizes) {
    check_axis(tensor, axis);
    index_t left = tensor.shape[axis];
    auto const extent = [&] {
        return "axis " + std::to_string(axis) + " has the extent " +
               std::to_string(tensor.shape[axis]);
    };
    for (std::size_t i = 0; i < sizes.size(); left -= sizes[i++])
        if (sizes[i] < 0 || sizes[i] > left)
            fail(errc::shape_mismatch, extent(), ", but part ", i + 1, " takes ", sizes[i],
                 " of the ", counted(left, "element"),
                 left == 1 ? " that is left" : " that are left");
    if (left != 0)
        fail(errc::shape_mismatch, extent(), ", but the sizes sum to ", tensor.shape[axis] - left);
}

/// Cuts `p` at the borders of the results along `axis`, and adds each part to its result.
constexpr void deal_out(piece const& p, std::size_t axis, std::span<index_t const> begins,
                        vector<expression>& results, piece_limit& limit) {
    index_t const first = p.target_offset[axis];
    box const reached = p.target_box();
    index_t const last = reached.end(axis);
    auto position = std::upper_bound(begins.begin(), begins.end(), first) - begins.begin() - 1;
    for (auto i = static_cast<std::size_t>(position); i < results.size() && begins[i] < last; ++i) {
        box region = whole(results[i].shape);
        region.offset[axis] = begins[i];
        for (std::size_t other = 0; other < region.ndim(); ++other)
            if (other != axis) {
                region.offset[other] = p.target_offset[other];
                region.shape[other] = reached.shape[other];
            }
        if (auto const common = intersect(region, reached)) {
            cut_to_target(p, *common, [&](piece cut) {
                limit.count(p);
                cut.target_offset[axis] -= begins[i];
                results[i].pieces.push_back(cut);
            });
        }
    }
}

} // namespace detail

/// Cuts a tensor along `axis` into parts of the given sizes, in order.
///
/// \par Units  elements
/// \post       `concat` of the results along `axis` has the elements of `tensor`
/// \throws     error with errc::shape_mismatch if the axis does not exist, a size is negative, or
///             the sizes do not add up to the extent; errc::limit_exceeded for more pieces than
///             `limit` allows
/// \par Source the split statement of AOA with `sizes`, which PaddlePaddle does not have
constexpr vector<expression> split(expression const& tensor, std::size_t axis,
                                   std::span<index_t const> sizes, detail::piece_limit& limit) {
    detail::check_sizes(tensor, axis, sizes);
    vector<expression> results;
    vector<index_t> begins;
    index_t sum = 0;
    for (index_t const size : sizes) {
        results.push_back({tensor.shape, tensor.dtype, detail::piece_list(tensor.ndim())});
        results.back().shape[axis] = size;
        begins.push_back(sum);
        sum += size;
    }
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i)
        detail::deal_out(tensor.pieces[i], axis, begins, results, limit);
    return results;
}

/// The same with the default limit of one operation.
constexpr vector<expression> split(expression const& tensor, std::size_t axis,
                                   std::span<index_t const> sizes) {
    detail::piece_limit limit;
    return split(tensor, axis, sizes, limit);
}

/// Cuts a tensor along `axis` into `parts` equal parts, in order.
///
/// \par Shape  each result has `1 / parts` of the extent along `axis`
/// \post       `concat` of the results along `axis` has the elements of `tensor`
/// \throws     error with errc::shape_mismatch if the axis does not exist or `parts` does not
///             divide its extent; errc::limit_exceeded for more pieces than `limit` allows
/// \par Source the split statement of AOA (PaddlePaddle flex_checkpoint), which supports only equal
///             parts, too
constexpr vector<expression> split(expression const& tensor, std::size_t axis, std::size_t parts,
                                   detail::piece_limit& limit) {
    detail::check_axis(tensor, axis);
    auto const count = static_cast<index_t>(parts);
    if (count < 1 || tensor.shape[axis] % count != 0)
        fail(errc::shape_mismatch, "axis ", axis, " has the extent ", tensor.shape[axis],
             ", which does not divide into ", parts, " equal parts; give explicit sizes");
    vector<index_t> const sizes(parts, tensor.shape[axis] / count);
    return split(tensor, axis, sizes, limit);
}

/// The same with the default limit of one operation.
constexpr vector<expression> split(expression const& tensor, std::size_t axis, std::size_t parts) {
    detail::piece_limit limit;
    return split(tensor, axis, parts, limit);
}

} // namespace reshard

#endif
