// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_BLOCK_SCALES_HPP
#define RESHARD_EXPR_BLOCK_SCALES_HPP

#include <reshard/expr/expression.hpp>

#include <cstddef>
#include <optional>
#include <utility>

/// \file
/// The scales of a tensor in narrow floating point numbers, one for each block of it: they follow
/// the tensor.

namespace reshard::detail {

/// The scales of one source tensor.
struct scale_source {
    key_id scales = 0; ///< their number as a source
    data_type dtype{};
    index_vector shape; ///< of the tensor that they scale
};

/// How many blocks there are along each axis; the last one may be shorter.
///
/// \pre `block` has a positive extent for each axis of `shape`
constexpr index_vector block_counts(index_vector const& shape, index_vector const& block) {
    index_vector counts = shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        counts[axis] = shape[axis] / block[axis] + (shape[axis] % block[axis] != 0 ? 1 : 0);
    return counts;
}

/// Refuses a box that begins or ends inside a block; `side` says of which tensor.
constexpr void check_blocks(box const& p, index_vector const& shape, index_vector const& block,
                            char const* side) {
    for (std::size_t axis = 0; axis < p.ndim(); ++axis)
        for (index_t const cut : {p.offset[axis], p.end(axis)})
            if (cut % block[axis] != 0 && cut != shape[axis]) {
                index_t const first = cut - cut % block[axis];
                fail(errc::shape_mismatch, "axis ", axis, " of the ", side, " is cut at ", cut,
                     ", inside the block from ", first, " to ", first + block[axis],
                     ", which has one scale; cut at multiples of ", block[axis]);
            }
}

/// The box in which each block is one element.
constexpr box in_blocks(box const& p, index_vector const& block) {
    box result = p;
    for (std::size_t axis = 0; axis < p.ndim(); ++axis) {
        result.offset[axis] /= block[axis];
        result.shape[axis] =
            p.shape[axis] / block[axis] + (p.shape[axis] % block[axis] != 0 ? 1 : 0);
    }
    return result;
}

/// Refuses what scales cannot follow.
constexpr void check_scaled(piece const& p, index_vector const& block) {
    if (!p.casts.empty())
        fail(errc::dtype_mismatch, "a block-scaled tensor of ", p.stored,
             " cannot be cast: its scales belong to its stored values");
    if (p.joins.any())
        fail(errc::unsupported, "a block-scaled tensor cannot be reshaped: its blocks are boxes "
                                "of its axes");
    if (block.size() != p.extent.size())
        fail(errc::shape_mismatch, "a block of ", block, " has ", counted(block.size(), "axis"),
             ", and the tensor ", p.extent.size());
}

/// The scales of a tensor that is made of block-scaled tensors, in their own data type `dtype`.
///
/// `source_of(id)` is the `scale_source` of source tensor `id`. Blocks are permuted with their
/// tensor.
///
/// \par Shape  `block` of the sources; the result has one element a block of `tensor`
/// \pre        all extents of `block` are positive
/// \throws     error with errc::shape_mismatch where the tensor is cut inside a block, or blocks of
///             two shapes meet, errc::dtype_mismatch where it is cast or scales differ in type,
///             errc::unsupported where it is reshaped
/// \par Source the `weight_scale_inv` tensors of DeepSeek-V3's checkpoints, blocks of 128 x 128;
///             Flex Checkpoint has no such rule, there scales have statements of their own
constexpr expression block_scales(expression const& tensor, index_vector const& block,
                                  data_type dtype, auto&& source_of) {
    std::optional<index_vector> permuted_block;
    piece_list pieces(tensor.ndim());
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i) {
        piece p = tensor.pieces[i];
        check_scaled(p, block);
        index_vector const target_block = p.order.apply(block);
        if (permuted_block && *permuted_block != target_block)
            fail(errc::shape_mismatch, "blocks of ", *permuted_block, " and of ", target_block,
                 " cannot be combined in one tensor");
        permuted_block = target_block;
        check_blocks(p.target_box(), tensor.shape, target_block, "target");
        box const target = in_blocks(p.target_box(), target_block);
        if (p.source != zero_source) {
            scale_source const from = source_of(p.source);
            check_blocks(p.source_box(), from.shape, block, "source");
            if (from.dtype != dtype)
                fail(errc::dtype_mismatch, "scales of ", from.dtype, " and ", dtype,
                     " cannot be combined in one tensor");
            p.source = from.scales;
        }
        p.stored = dtype;
        p.source_offset = in_blocks(p.source_box(), block).offset;
        p.target_offset = target.offset;
        p.extent = target.shape;
        pieces.push_back(p);
    }
    return {block_counts(tensor.shape, permuted_block.value_or(block)), dtype, std::move(pieces)};
}

} // namespace reshard::detail

#endif
