// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_PIECE_HPP
#define RESHARD_EXPR_PIECE_HPP

#include <reshard/core/axis_joins.hpp>
#include <reshard/core/box.hpp>
#include <reshard/core/permutation.hpp>
#include <reshard/core/step_chain.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

/// \file
/// The result of every program: pairs of boxes, one of a source tensor and one of a target tensor.

namespace reshard {

namespace detail {

/// The number of a source tensor: its index in the list that the expressions were made from.
using key_id = std::uint32_t;

/// The source of a piece of zeros.
inline constexpr key_id zero_source = 0xffffffff;

} // namespace detail

/// A box of a target tensor and the source of its elements.
///
/// The axes of both boxes are made of the same factors. Without a reshape, `joins` is empty, and
/// each factor is an axis.
///
/// \par Units  elements, in global coordinates of the two tensors
struct piece {
    detail::key_id source = detail::zero_source;
    data_type stored{}; ///< the source's data type
    permutation order;  ///< target factor `j` is source factor `order[j]`
    detail::step_chain steps;
    index_vector source_offset;
    index_vector target_offset;
    index_vector extent; ///< of each factor, in the order of the target
    detail::axis_joins joins = {};

    constexpr std::size_t ndim() const { return target_offset.size(); }
    static constexpr void members(auto& self, auto&& visit) {
        visit(self.source, self.stored, self.order, self.steps, self.source_offset,
              self.target_offset, self.extent, self.joins);
    }

    constexpr box target_box() const {
        return {target_offset, detail::joined_extents(extent, joins.target)};
    }
    constexpr box source_box() const {
        return {source_offset, detail::joined_extents(order.undo(extent), joins.source)};
    }

    constexpr bool operator==(piece const&) const = default;
};

/// \throws error with errc::bad_layout, errc::shape_mismatch or errc::overflow if the boxes are
///         invalid, or the order of axes is not a permutation of their axes
constexpr void validate(piece const& part) {
    detail::check_factors(part.order, part.extent, part.joins);
    if (!detail::is_sound(part.target_box()) || !detail::is_sound(part.source_box()) ||
        detail::is_empty(part.target_box()))
        fail(errc::bad_layout, "it has a piece of extents ", part.extent, " from ",
             part.source_offset, " to ", part.target_offset);
}

namespace detail {

/// The target axis of a piece that equals axis `along` of the source; std::nullopt if a reshape
/// joined or split that axis.
constexpr std::optional<std::size_t> same_axis(piece const& p, std::size_t along) {
    box const source = p.source_box(), target = p.target_box();
    for (std::size_t k = 0; k < p.extent.size(); ++k) {
        std::size_t const axis = axis_of_factor(p.joins.target, k);
        if (axis_of_factor(p.joins.source, p.order[k]) == along && along < source.ndim() &&
            axis < target.ndim() && p.extent[k] == source.shape[along] &&
            p.extent[k] == target.shape[axis])
            return axis;
    }
    return std::nullopt;
}

} // namespace detail

} // namespace reshard

#endif
