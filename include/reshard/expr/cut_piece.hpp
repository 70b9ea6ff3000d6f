// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_CUT_PIECE_HPP
#define RESHARD_EXPR_CUT_PIECE_HPP

#include <reshard/core/flat_range.hpp>
#include <reshard/expr/piece.hpp>
#include <reshard/expr/piece_limit.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// \file
/// What of a piece makes up a box of its target, or comes from a box of its source.

namespace reshard {

namespace detail {

/// Removes factor `k` from a side's joins; the axis that it began is begun by the next one.
constexpr std::uint8_t without_factor(std::uint8_t joins, std::size_t k) {
    unsigned const bits = joins;
    unsigned rest = bits >> (k + 1);
    if (!is_joined(joins, k))
        rest &= ~1u;
    return static_cast<std::uint8_t>((bits & ((1u << k) - 1)) | rest << k);
}

/// The piece without target factor `k`.
///
/// \pre its extent is 1, or counted in another factor
constexpr piece without_factor(piece part, std::size_t k) {
    std::size_t const ndim = part.extent.size(), in_source = part.order[k];
    index_vector order, extent;
    for (std::size_t j = 0; j < ndim; ++j)
        if (j != k) {
            order.push_back(
                static_cast<index_t>(part.order[j] - (part.order[j] > in_source ? 1 : 0)));
            extent.push_back(part.extent[j]);
        }
    part.joins = {without_factor(part.joins.source, in_source),
                  without_factor(part.joins.target, k)};
    part.order = permutation::of(order, ndim - 1);
    part.extent = extent;
    return part;
}

/// Whether a factor is not the only one of its axis.
constexpr bool shares_axis(std::uint8_t joins, std::size_t k, std::size_t ndim) {
    return is_joined(joins, k) || (k + 1 < ndim && is_joined(joins, k + 1));
}

/// Whether target factor `k` may be counted in factor `k - 1`: they stand side by side in one axis
/// on either side.
constexpr bool continues_factor(piece const& part, std::size_t k) {
    return k > 0 && is_joined(part.joins.target, k) && part.order[k] == part.order[k - 1] + 1 &&
           is_joined(part.joins.source, part.order[k]);
}

/// The same piece with as few factors as there can be.
constexpr piece simplified(piece part) {
    for (std::size_t k = part.extent.size(); part.joins.any() && k-- > 0;) {
        std::size_t const ndim = part.extent.size();
        bool const is_needless = part.extent[k] == 1 && shares_axis(part.joins.target, k, ndim) &&
                                 shares_axis(part.joins.source, part.order[k], ndim);
        if (!is_needless && !continues_factor(part, k))
            continue;
        if (!is_needless)
            part.extent[k - 1] *= part.extent[k];
        part = without_factor(part, k);
        k = std::min(k + 1, part.extent.size());
    }
    return part;
}

/// The box of factors as a piece of its own.
///
/// \pre along no axis are these factors other than a range
constexpr piece part_of(piece const& whole, box const& factors) {
    piece part = whole;
    index_vector const target = joined_offset(factors.offset, whole.extent, whole.joins.target);
    index_vector const source = joined_offset(whole.order.undo(factors.offset),
                                              whole.order.undo(whole.extent), whole.joins.source);
    for (std::size_t axis = 0; axis < target.size(); ++axis)
        part.target_offset[axis] += target[axis];
    for (std::size_t axis = 0; axis < source.size(); ++axis)
        part.source_offset[axis] += source[axis];
    part.extent = factors.shape;
    return simplified(part);
}

/// The outermost factor but one that has to be cut into single elements until a part of joined
/// factors is a range along each axis; nothing where it is.
///
/// \par Shape `extents` of the factors, `part` of them
constexpr std::optional<std::size_t>
factor_to_cut(index_vector const& part, index_vector const& extents, std::uint8_t joins) {
    bool is_cut = false;
    for (std::size_t k = extents.size(); k-- > 0;) {
        if (is_cut && part[k] > 1)
            return k;
        is_cut = is_joined(joins, k) && (is_cut || part[k] != extents[k]);
    }
    return std::nullopt;
}

/// The same for both sides of a piece; the factor counts in the order of the target.
constexpr std::optional<std::size_t> factor_to_cut(piece const& whole, index_vector const& part) {
    if (auto const k = factor_to_cut(part, whole.extent, whole.joins.target))
        return k;
    auto const in_source =
        factor_to_cut(whole.order.undo(part), whole.order.undo(whole.extent), whole.joins.source);
    for (std::size_t k = 0; in_source && k < part.size(); ++k)
        if (whole.order[k] == *in_source)
            return k;
    return std::nullopt;
}

/// Calls `take(part)` for each piece that a box of factors is.
template <class Take>
constexpr void take_factors(piece const& whole, box factors, Take& take) {
    auto const k = factor_to_cut(whole, factors.shape);
    if (!k)
        return take(part_of(whole, factors));
    index_t const end = factors.end(*k);
    factors.shape[*k] = 1;
    for (; factors.offset[*k] < end; ++factors.offset[*k])
        take_factors(whole, factors, take);
}

/// The boxes of factors that a box of the axes that they make up is, in order.
///
/// \par Shape `extents` of the factors
constexpr std::vector<box> factor_boxes(box const& region, index_vector const& extents,
                                        std::uint8_t joins) {
    std::vector<box> found(1);
    std::size_t axis = 0;
    for (std::size_t first = 0, last = 0; first < extents.size(); first = last) {
        for (last = first + 1; last < extents.size() && is_joined(joins, last);)
            ++last;
        bool const has_axis = !is_joined(joins, first);
        flat_range const range =
            has_axis ? flat_range{region.offset[axis], region.end(axis)} : flat_range{0, 1};
        axis += has_axis;
        std::vector<box> longer;
        for (box const& so_far : found)
            for (box const& part :
                 boxes_of(range, index_vector(extents.begin() + first, extents.begin() + last))) {
                longer.push_back(so_far);
                for (std::size_t k = 0; k < part.ndim(); ++k) {
                    longer.back().offset.push_back(part.offset[k]);
                    longer.back().shape.push_back(part.shape[k]);
                }
            }
        found = std::move(longer);
    }
    return found;
}

/// Calls `take(part)` for each piece that boxes of factors are.
template <class Take>
constexpr void take_all(piece const& whole, std::vector<box> const& boxes, Take&& take) {
    piece_limit limit;
    auto counted = [&](piece const& part) {
        limit.count(whole);
        take(part);
    };
    for (box const& factors : boxes)
        take_factors(whole, factors, counted);
}

} // namespace detail

/// The part of a piece that makes up `region` of the target.
///
/// \pre `contains(whole.target_box(), region)`, and the piece has no joined axes
constexpr piece cut_to_target(piece whole, box const& region) {
    BOOST_ASSERT(!whole.joins.any() && contains(whole.target_box(), region));
    index_vector moved = region.offset;
    for (std::size_t axis = 0; axis < moved.size(); ++axis)
        moved[axis] -= whole.target_offset[axis];
    moved = whole.order.undo(moved);
    for (std::size_t axis = 0; axis < moved.size(); ++axis)
        whole.source_offset[axis] += moved[axis];
    whole.target_offset = region.offset;
    whole.extent = region.shape;
    return whole;
}

/// Calls `take(part)` for each piece that `region` of the target is: one, but where a reshape has
/// joined axes; there they come in one order on every rank.
///
/// \pre    `contains(whole.target_box(), region)`
/// \throws error with errc::limit_exceeded when there are more than four million
template <class Take>
constexpr void cut_to_target(piece const& whole, box const& region, Take&& take) {
    if (!whole.joins.any())
        return take(cut_to_target(whole, region));
    detail::take_all(whole,
                     detail::factor_boxes(relative_to(region, whole.target_offset), whole.extent,
                                          whole.joins.target),
                     take);
}

/// The box of the target that is made of `region` of the source.
///
/// \pre `contains(part.source_box(), region)`, and the piece has no joined axes
constexpr box target_box_of(piece const& part, box const& region) {
    BOOST_ASSERT(!part.joins.any() && contains(part.source_box(), region));
    box result{part.order.apply(relative_to(region, part.source_offset).offset),
               part.order.apply(region.shape)};
    for (std::size_t axis = 0; axis < result.ndim(); ++axis)
        result.offset[axis] += part.target_offset[axis];
    return result;
}

/// Calls `take(part)` for each piece that `region` of the source is: one, but where a reshape has
/// joined axes.
///
/// \pre    `contains(whole.source_box(), region)`
/// \throws error with errc::limit_exceeded when there are more than four million
template <class Take>
constexpr void cut_to_source(piece const& whole, box const& region, Take&& take) {
    if (!whole.joins.any())
        return take(cut_to_target(whole, target_box_of(whole, region)));
    std::vector<box> boxes =
        detail::factor_boxes(relative_to(region, whole.source_offset),
                             whole.order.undo(whole.extent), whole.joins.source);
    for (box& factors : boxes)
        factors = {whole.order.apply(factors.offset), whole.order.apply(factors.shape)};
    detail::take_all(whole, boxes, take);
}

} // namespace reshard

#endif
