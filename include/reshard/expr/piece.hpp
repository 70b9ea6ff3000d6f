// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_PIECE_HPP
#define RESHARD_EXPR_PIECE_HPP

#include <reshard/core/axis_joins.hpp>
#include <reshard/core/box.hpp>
#include <reshard/core/cast_chain.hpp>
#include <reshard/core/permutation.hpp>

#include <cstdint>

/// \file
/// What every program ends as: a box of a source tensor that is a box of a target tensor.

namespace reshard {

/// The number of a source tensor: its place in whatever list the expressions were made from.
using key_id = std::uint32_t;

/// The source of a piece that is no tensor: zeros.
inline constexpr key_id zero_source = 0xffffffff;

/// A box of a target tensor and where its elements come from.
///
/// The axes of both boxes are made of the same factors. Without a reshape, `joins` is empty, and
/// each factor is an axis.
///
/// \par Units  elements, in global coordinates of the two tensors
struct piece {
    key_id source = zero_source;
    data_type stored{}; ///< the data type in which the source holds the elements
    permutation order;  ///< target factor `j` is source factor `order[j]`
    cast_chain casts;
    index_vector source_offset;
    index_vector target_offset;
    index_vector extent; ///< of the factors, in the order of the target
    axis_joins joins = {};

    constexpr box target_box() const {
        return {target_offset, detail::joined_extents(extent, joins.target)};
    }
    constexpr box source_box() const {
        return {source_offset, detail::joined_extents(order.undo(extent), joins.source)};
    }

    constexpr bool operator==(piece const&) const = default;
};

} // namespace reshard

#endif
