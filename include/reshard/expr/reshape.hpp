// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_RESHAPE_HPP
#define RESHARD_EXPR_RESHAPE_HPP

#include <reshard/core/axis_joins.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/cut_piece.hpp>
#include <reshard/expr/expression.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

/// \file
/// Gives a tensor another shape; its elements keep their row-major order.

namespace reshard {

namespace detail {

/// The number of parts of each factor; there are `count` parts in total.
constexpr vector<std::size_t> finer_parts(std::uint8_t joins, std::size_t count) {
    vector<std::size_t> counts;
    for (std::size_t k = 0; k < count; ++k) {
        if (k == 0 || !is_joined(joins, k))
            counts.push_back(0);
        ++counts.back();
    }
    return counts;
}

/// The index of the first part of target factor `k` among the finer factors of the source.
constexpr std::size_t place_in_source(permutation order, vector<std::size_t> const& counts,
                                      std::size_t k) {
    std::size_t index = 0;
    for (std::size_t j = 0; j < counts.size(); ++j)
        index += order[j] < order[k] ? counts[j] : 0;
    return index;
}

/// The piece with its factors cut into finer factors, which are joined to the axes of a new target.
///
/// \param finer the factors of which both the piece's factors and the new target's axes consist
constexpr piece with_factors(piece piece, common_factors const& finer,
                             index_vector const& target_offset) {
    bool const is_scalar = piece.extent.empty();
    auto const counts = finer_parts(finer.before, finer.extent.size());
    index_vector order;
    unsigned joins = is_scalar ? finer.before : 0;
    for (std::size_t k = 0; k < counts.size(); ++k) {
        std::size_t const index = is_scalar ? 0 : place_in_source(piece.order, counts, k);
        for (std::size_t i = 0; i < counts[k]; ++i) {
            bool const continues =
                i > 0 || (!is_scalar && is_joined(piece.joins.source, piece.order[k]));
            joins |= (continues ? 1u : 0u) << (index + i);
            order.push_back(static_cast<index_t>(index + i));
        }
    }
    piece.order = permutation::of(order, order.size());
    piece.extent = finer.extent;
    piece.target_offset = target_offset;
    piece.joins = {static_cast<std::uint8_t>(joins), finer.after};
    return piece;
}

/// Gives the pieces of a tensor another shape, piece by piece.
class reshaper {
public:
    /// \pre `factors` are common to the old shape and the shape of `result`
    constexpr reshaper(common_factors const& factors, expression& result, piece_limit& limit)
        : factors_(factors), result_(result), limit_(limit) {}

    /// Adds a piece under the new shape.
    constexpr void add(piece const& p) {
        vector<box> const boxes = factor_boxes(p.target_box(), factors_.extent, factors_.before);
        if (boxes.size() == 1)
            return refine(p, boxes[0]);
        for (box const& factors : boxes)
            cut_to_target(p,
                          {joined_offset(factors.offset, factors_.extent, factors_.before),
                           joined_extents(factors.shape, factors_.before)},
                          [&](piece const& smaller) { add(smaller); });
    }

private:
    /// Gives the piece an axis for each factor that both shapes share.
    ///
    /// \pre `factors` is the piece's target box
    constexpr void refine(piece const& p, box const& factors) {
        if (auto const k = find_clash(p, factors.shape)) {
            box box = {index_vector::filled(p.extent.size(), 0), p.extent};
            box.shape[*k] = 1;
            auto again = [&](piece const& smaller) { add(smaller); };
            for (; box.offset[*k] < p.extent[*k]; ++box.offset[*k])
                take_factors(p, box, again);
            return;
        }
        join(with_factors(p, *factors_of(p.extent, factors.shape), factors.offset));
    }

    /// A factor of the piece that has to be cut, because the present factors of its axis and the
    /// required factors do not divide each other.
    constexpr std::optional<std::size_t> find_clash(piece const& p,
                                                    index_vector const& wanted) const {
        std::size_t first = 0, other_first = 0;
        while (first < p.extent.size()) {
            std::size_t const last = end_of_axis(p.joins.target, first, p.extent.size());
            std::size_t const other_last = end_of_axis(factors_.before, other_first, wanted.size());
            index_vector const have(p.extent.begin() + first, p.extent.begin() + last);
            index_vector const want(wanted.begin() + other_first, wanted.begin() + other_last);
            if (!factors_of(have, want)) {
                while (p.extent[first] == 1)
                    ++first;
                return first;
            }
            first = last;
            other_first = other_last;
        }
        return std::nullopt;
    }

    static constexpr std::size_t end_of_axis(std::uint8_t joins, std::size_t first,
                                             std::size_t count) {
        std::size_t last = first + 1;
        while (last < count && is_joined(joins, last))
            ++last;
        return last;
    }

    /// Joins axes that are single factors into the axes of the new shape.
    constexpr void join(piece p) {
        box const target = p.target_box();
        if (auto const axis = factor_to_cut(target.shape, factors_.extent, factors_.after)) {
            box box = target;
            box.shape[*axis] = 1;
            for (; box.offset[*axis] < target.end(*axis); ++box.offset[*axis])
                cut_to_target(p, box, [&](piece const& smaller) { join(smaller); });
            return;
        }
        unsigned joins = 0;
        std::size_t axis = 0;
        for (std::size_t k = 0; k < p.extent.size(); ++k) {
            bool const continues = is_joined(p.joins.target, k);
            axis += k > 0 && !continues;
            joins |= (continues || is_joined(factors_.after, axis) ? 1u : 0u) << k;
        }
        p.target_offset = joined_offset(target.offset, factors_.extent, factors_.after);
        p.joins.target = static_cast<std::uint8_t>(joins);
        limit_.count(p);
        result_.pieces.push_back(simplified(p));
    }

    common_factors const& factors_;
    expression& result_;
    piece_limit& limit_;
};

} // namespace detail

/// The tensor with the same elements in row-major order, in another shape.
///
/// Merging and splitting of neighbouring axes is exact: a piece that covers the merged axes stays
/// one piece, and other pieces are cut into rows.
///
/// \throws     error with errc::shape_mismatch when the shapes differ in their number of elements,
///             errc::limit_exceeded for more pieces than `limit` allows, or for more than eight
///             common factors of both shapes
/// \par Source the reshape statement of AOA (PaddlePaddle flex_checkpoint), which may only be the
///             last operation, and merges the first two axes, and all other axes
constexpr expression reshape(expression const& tensor, index_vector const& shape,
                             detail::piece_limit& limit) {
    index_t const count = element_count(shape);
    if (count != element_count(tensor.shape))
        fail(errc::shape_mismatch, "the shape ", tensor.shape, " has ",
             detail::counted(element_count(tensor.shape), "element"), ", but ", shape, " has ",
             count);
    if (shape == tensor.shape)
        return tensor;
    expression result{shape, tensor.dtype, detail::piece_list(shape.size())};
    if (count == 0)
        return result;
    auto const factors = detail::factors_of(tensor.shape, shape);
    if (!factors)
        return reshape(reshape(tensor, detail::merged_shape(tensor.shape, shape), limit), shape,
                       limit);
    detail::reshaper pieces(*factors, result, limit);
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i)
        pieces.add(tensor.pieces[i]);
    return result;
}

/// The same with the default limit of one operation.
constexpr expression reshape(expression const& tensor, index_vector const& shape) {
    detail::piece_limit limit;
    return reshape(tensor, shape, limit);
}

} // namespace reshard

#endif
