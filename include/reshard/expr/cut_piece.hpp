// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_CUT_PIECE_HPP
#define RESHARD_EXPR_CUT_PIECE_HPP

#include <reshard/core/error.hpp>
#include <reshard/core/flat_range.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/piece.hpp>

#include <cstddef>
#include <optional>

/// \file
/// Cuts a piece to a box of its target or of its source.

namespace reshard::detail {

/// Counts pieces, and refuses too many: a piece of a few elements takes more memory than these.
class piece_limit {
public:
    static constexpr std::size_t default_most = std::size_t{1} << 22;

    constexpr explicit piece_limit(std::size_t most = default_most) : most_(most) {}

    /// Counts one more piece.
    ///
    /// \param  piece for the message: the counted piece, or a piece that contains it
    /// \throws error with errc::limit_exceeded
    constexpr void count(piece const& piece) {
        if (left() == 0) {
            is_exceeded_ = true;
            fail(errc::limit_exceeded, "a box of shape ", piece.target_box().shape,
                 " made from a box of shape ", piece.source_box().shape, " needs more than ", most_,
                 " pieces; cut the tensor along an outer axis");
        }
        ++made_;
    }

    constexpr std::size_t left() const { return most_ - made_; }
    constexpr bool is_exceeded() const { return is_exceeded_; }

private:
    std::size_t most_;
    std::size_t made_ = 0;
    bool is_exceeded_ = false;
};

/// Removes factor `k` from the joins of one side. If factor `k` begins an axis, the next factor
/// begins that axis instead.
constexpr std::uint8_t without_factor(std::uint8_t joins, std::size_t k) {
    unsigned const bits = joins;
    unsigned remainder = bits >> (k + 1);
    if (!is_joined(joins, k))
        remainder &= ~1u;
    return static_cast<std::uint8_t>((bits & ((1u << k) - 1)) | remainder << k);
}

/// The piece without target factor `k`.
///
/// \pre its extent is 1, or another factor includes its extent
constexpr piece without_factor(piece p, std::size_t k) {
    std::size_t const ndim = p.extent.size(), in_source = p.order[k];
    index_vector order, extent;
    for (std::size_t j = 0; j < ndim; ++j)
        if (j != k) {
            order.push_back(static_cast<index_t>(p.order[j] - (p.order[j] > in_source ? 1 : 0)));
            extent.push_back(p.extent[j]);
        }
    p.joins = {without_factor(p.joins.source, in_source), without_factor(p.joins.target, k)};
    p.order = permutation::of(order, ndim - 1);
    p.extent = extent;
    return p;
}

/// Whether a factor shares its axis with other factors.
constexpr bool shares_axis(std::uint8_t joins, std::size_t k, std::size_t ndim) {
    return is_joined(joins, k) || (k + 1 < ndim && is_joined(joins, k + 1));
}

/// Whether target factor `k` can be merged into factor `k - 1`: on both sides, the two are
/// neighbours in one axis.
constexpr bool continues_factor(piece const& p, std::size_t k) {
    return k > 0 && is_joined(p.joins.target, k) && p.order[k] == p.order[k - 1] + 1 &&
           is_joined(p.joins.source, p.order[k]);
}

/// Merges factors of a piece until no more can be merged.
constexpr piece simplified(piece p) {
    for (std::size_t k = p.extent.size(); p.joins.any() && k-- > 0;) {
        std::size_t const ndim = p.extent.size();
        bool const is_needless = p.extent[k] == 1 && shares_axis(p.joins.target, k, ndim) &&
                                 shares_axis(p.joins.source, p.order[k], ndim);
        if (!is_needless && !continues_factor(p, k))
            continue;
        if (!is_needless)
            p.extent[k - 1] *= p.extent[k];
        p = without_factor(p, k);
        k = std::min(k + 1, p.extent.size());
    }
    return p;
}

/// A box of a piece's factors as a separate piece.
///
/// \pre the box of factors is a range along each axis
constexpr piece part_of(piece const& whole_piece, box const& factors) {
    piece p = whole_piece;
    index_vector const target =
        joined_offset(factors.offset, whole_piece.extent, whole_piece.joins.target);
    index_vector const source =
        joined_offset(whole_piece.order.undo(factors.offset),
                      whole_piece.order.undo(whole_piece.extent), whole_piece.joins.source);
    for (std::size_t axis = 0; axis < target.size(); ++axis)
        p.target_offset[axis] += target[axis];
    for (std::size_t axis = 0; axis < source.size(); ++axis)
        p.source_offset[axis] += source[axis];
    p.extent = factors.shape;
    return simplified(p);
}

/// The innermost factor that has to be cut into single elements before the box of shape `p` is a
/// range along each axis; std::nullopt if the box is such a range.
///
/// \par Shape `extents` is for the factors, `p` for the box
constexpr std::optional<std::size_t>
factor_to_cut(index_vector const& p, index_vector const& extents, std::uint8_t joins) {
    bool is_cut = false;
    for (std::size_t k = extents.size(); k-- > 0;) {
        if (is_cut && p[k] > 1)
            return k;
        is_cut = is_joined(joins, k) && (is_cut || p[k] != extents[k]);
    }
    return std::nullopt;
}

/// The same for both sides of a piece; factors are numbered in the order of the target.
constexpr std::optional<std::size_t> factor_to_cut(piece const& piece, index_vector const& p) {
    if (auto const k = factor_to_cut(p, piece.extent, piece.joins.target))
        return k;
    auto const in_source =
        factor_to_cut(piece.order.undo(p), piece.order.undo(piece.extent), piece.joins.source);
    for (std::size_t k = 0; in_source && k < p.size(); ++k)
        if (piece.order[k] == *in_source)
            return k;
    return std::nullopt;
}

using piece_visitor = function_ref<void(piece const&)>;

/// Divides a box of factors into pieces, and calls `take(p)` for each.
constexpr void take_factors(piece const& piece, box factors, piece_visitor take) {
    auto const k = factor_to_cut(piece, factors.shape);
    if (!k)
        return take(part_of(piece, factors));
    index_t const end = factors.end(*k);
    factors.shape[*k] = 1;
    for (; factors.offset[*k] < end; ++factors.offset[*k])
        take_factors(piece, factors, take);
}

/// The boxes of factors that make up a box of axes, in order.
///
/// \par Shape `extents` is for the factors
constexpr vector<box> factor_boxes(box const& region, index_vector const& extents,
                                   std::uint8_t joins) {
    vector<box> boxes(1);
    std::size_t axis = 0;
    for (std::size_t first = 0, last = 0; first < extents.size(); first = last) {
        for (last = first + 1; last < extents.size() && is_joined(joins, last);)
            ++last;
        bool const has_axis = !is_joined(joins, first);
        flat_range const range =
            has_axis ? flat_range{region.offset[axis], region.end(axis)} : flat_range{0, 1};
        axis += has_axis;
        vector<box> longer;
        for (box const& so_far : boxes)
            for (box const& p :
                 boxes_of(range, index_vector(extents.begin() + first, extents.begin() + last))) {
                longer.push_back(so_far);
                for (std::size_t k = 0; k < p.ndim(); ++k) {
                    longer.back().offset.push_back(p.offset[k]);
                    longer.back().shape.push_back(p.shape[k]);
                }
            }
        boxes = std::move(longer);
    }
    return boxes;
}

/// Divides boxes of factors into pieces, and calls `take(p)` for each.
constexpr void take_all(piece const& whole_piece, vector<box> const& boxes, piece_visitor take) {
    piece_limit limit;
    auto const counted = [&](piece const& p) {
        limit.count(whole_piece);
        take(p);
    };
    for (box const& factors : boxes)
        take_factors(whole_piece, factors, counted);
}

/// The part of a piece that makes up `region` of the target.
///
/// \pre `contains(piece.target_box(), region)`, and the piece has no joined axes
constexpr piece cut_to_target(piece piece, box const& region) {
    BOOST_ASSERT(!piece.joins.any() && contains(piece.target_box(), region));
    index_vector moved = region.offset;
    for (std::size_t axis = 0; axis < moved.size(); ++axis)
        moved[axis] -= piece.target_offset[axis];
    moved = piece.order.undo(moved);
    for (std::size_t axis = 0; axis < moved.size(); ++axis)
        piece.source_offset[axis] += moved[axis];
    piece.target_offset = region.offset;
    piece.extent = region.shape;
    return piece;
}

/// Calls `take(p)` for each piece that makes up `region` of the target: one piece, or several if a
/// reshape has joined axes. Their order is the same on every rank.
///
/// \pre    `contains(piece.target_box(), region)`
/// \throws error with errc::limit_exceeded if there are more than four million pieces
constexpr void cut_to_target(piece const& piece, box const& region, piece_visitor take) {
    if (!piece.joins.any())
        return take(cut_to_target(piece, region));
    take_all(
        piece,
        factor_boxes(relative_to(region, piece.target_offset), piece.extent, piece.joins.target),
        take);
}

/// The box of the target that receives `region` of the source.
///
/// \pre `contains(p.source_box(), region)`, and the piece has no joined axes
constexpr box target_box_of(piece const& p, box const& region) {
    BOOST_ASSERT(!p.joins.any() && contains(p.source_box(), region));
    box result{p.order.apply(relative_to(region, p.source_offset).offset),
               p.order.apply(region.shape)};
    for (std::size_t axis = 0; axis < result.ndim(); ++axis)
        result.offset[axis] += p.target_offset[axis];
    return result;
}

/// Calls `take(p)` for each piece that comes from `region` of the source: one piece, or several if
/// a reshape has joined axes.
///
/// \pre    `contains(piece.source_box(), region)`
/// \throws error with errc::limit_exceeded if there are more than four million pieces
constexpr void cut_to_source(piece const& piece, box const& region, piece_visitor take) {
    if (!piece.joins.any())
        return take(cut_to_target(piece, target_box_of(piece, region)));
    vector<box> boxes = factor_boxes(relative_to(region, piece.source_offset),
                                     piece.order.undo(piece.extent), piece.joins.source);
    for (box& factors : boxes)
        factors = {piece.order.apply(factors.offset), piece.order.apply(factors.shape)};
    take_all(piece, boxes, take);
}

} // namespace reshard::detail

#endif
