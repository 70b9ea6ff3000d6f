// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_BLOCK_SCALES_HPP
#define RESHARD_EXPR_BLOCK_SCALES_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/expression.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

/// \file
/// Block scales: a quantised tensor has a scale for each block of elements. The scales move with
/// their tensor.

namespace reshard::detail {

/// Whether an element of that type may be a quantised value, or several packed values.
constexpr bool may_be_quantised(data_type dtype) {
    return (bits(dtype) <= 8 && dtype != data_type::boolean) || dtype == data_type::i32 ||
           dtype == data_type::u32;
}

/// How the elements of a tensor share its scales.
///
/// Along axis `i`, each block of `block[i]` elements has `count[i]` scales. If `block[i]` is 0, all
/// elements along the axis share `count[i]` scales. If `count[i]` is 0, the scales do not have that
/// axis.
struct block_form {
    index_vector block;
    index_vector count = {}; ///< empty: one scale for each block, along each axis

    constexpr std::size_t ndim() const { return block.size(); }
    constexpr index_t count_of(std::size_t axis) const { return count.empty() ? 1 : count[axis]; }

    constexpr bool operator==(block_form const&) const = default;
};

/// The scales of one source tensor.
struct scale_source {
    key_id scales = 0; ///< the source number of the scales
    data_type dtype{};
    index_vector shape;   ///< of the scaled tensor
    block_form form = {}; ///< empty: the caller's form applies
};

/// The shape of the scales of a tensor. The last block along an axis may be shorter.
///
/// \pre `form.ndim() == shape.size()`
constexpr index_vector scale_counts(index_vector const& shape, block_form const& form) {
    index_vector counts;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        if (index_t const block = form.block[axis]; form.count_of(axis) > 0)
            counts.push_back(form.count_of(axis) *
                             (block == 0 ? 1 : shape[axis] / block + (shape[axis] % block != 0)));
    return counts;
}

/// The box of scales whose blocks overlap `region`.
///
/// \pre `form.ndim() == region.ndim()`
constexpr box scales_of_box(box const& region, block_form const& form) {
    box scales;
    for (std::size_t axis = 0; axis < region.ndim(); ++axis) {
        index_t const block = form.block[axis], count = form.count_of(axis);
        if (count == 0)
            continue;
        index_t const first = block == 0 ? 0 : region.offset[axis] / block;
        index_t const last =
            block == 0 ? 1 : region.end(axis) / block + (region.end(axis) % block != 0);
        scales.offset.push_back(first * count);
        scales.shape.push_back((last - first) * count);
    }
    return scales;
}

/// The axis of the tensor that corresponds to axis `of_scales` of its scales.
///
/// \pre the scales have that axis
constexpr std::size_t axis_of_scales(block_form const& form, std::size_t of_scales) {
    std::size_t axis = 0;
    for (;; ++axis)
        if (form.count_of(axis) > 0 && of_scales-- == 0)
            return axis;
}

/// The form of a tensor with its axes in another order.
constexpr block_form permuted(block_form const& form, permutation const& order) {
    return {order.apply(form.block), form.count.empty() ? form.count : order.apply(form.count)};
}

/// The order of the scales' axes after the tensor's axes are permuted by `order`.
constexpr permutation order_of_scales(block_form const& source, permutation const& order) {
    index_vector numbers; ///< by axis of the tensor: the axis of its scales, or -1
    for (index_t axis = 0, next = 0; axis < std::ssize(source.block); ++axis)
        numbers.push_back(source.count_of(static_cast<std::size_t>(axis)) > 0 ? next++ : -1);
    index_vector kept;
    for (index_t const number : order.apply(numbers))
        if (number >= 0)
            kept.push_back(number);
    return permutation::of(kept, kept.size());
}

/// Extends `block` to `ndim` axes with leading 1s: no block spans two tensors of a stack.
constexpr index_vector block_in(std::size_t ndim, index_vector const& block) {
    index_vector extents = index_vector::filled(ndim - std::min(ndim, block.size()), 1);
    for (index_t const extent : block)
        extents.push_back(extent);
    return extents;
}

/// Refuses a form that does not have `ndim` axes.
constexpr void check_axes(block_form const& form, std::size_t ndim) {
    if (form.ndim() != ndim)
        fail(errc::shape_mismatch, "a block of ", form.block, " has ", counted(form.ndim(), "axis"),
             ", but the tensor has ", ndim);
}

/// Refuses a piece that its scales cannot follow.
constexpr void check_scaled(piece const& p, block_form const& form) {
    if (!p.steps.empty())
        fail(errc::dtype_mismatch, "a block-scaled tensor of ", p.stored,
             " cannot be cast or computed: its scales belong to its stored values");
    check_axes(form, p.source_offset.size());
}

/// The scales of a piece of a tensor, as pieces.
struct scaled_piece {
    block_form form; ///< with the axes of the target
    piece_list scales;
};

/// The scales of a piece of a tensor of shape `shape`. A reshape may have joined or split axes of
/// the piece. The scales follow if each axis that has blocks is unchanged, or is joined or split
/// between blocks.
///
/// \throws error with errc::shape_mismatch if the piece is cut inside a block, errc::unsupported if
///         a reshape breaks blocks
RESHARD_DECL scaled_piece scales_of_piece(piece p, index_vector const& shape,
                                          scale_source const& from);

/// Adds those scales of a piece that `pieces` does not have yet: several pieces of a tensor may
/// share a scale.
///
/// \throws error with errc::overlap if other scales have the same index
RESHARD_DECL void add_scales(piece_list& pieces, piece const& p, block_form const& form);

/// Adds zeros as the scales of blocks that have elements only in a box of zeros.
RESHARD_DECL void add_zero_scales(piece_list& pieces, box const& region, block_form const& form,
                                  data_type dtype);

/// Scales, and the form that relates them to their tensor.
struct made_scales {
    block_form form;
    expression scales;
};

/// The scales of a tensor that is made of block-scaled tensors; `dtype` is the data type of the
/// scales.
///
/// `source_of(id)` is the `scale_source` of source tensor `id`. Blocks are permuted with their
/// tensor. Zeros need scales only in blocks that have no other elements.
///
/// \par Shape  `form` describes the sources; the result has the scales of each block of `tensor`
/// \throws     error with errc::shape_mismatch if the tensor is cut inside a block or has blocks of
///             two shapes, errc::dtype_mismatch if it is cast or its scales differ in type,
///             errc::unsupported if a reshape breaks blocks, errc::overlap if two scales have the
///             same index
/// \par Source the `weight_scale_inv` tensors of DeepSeek-V3's checkpoints, blocks of 128 x 128;
///             Flex Checkpoint has no such rule: there, scales need separate statements
constexpr made_scales scales_and_form(expression const& tensor, block_form const& form,
                                      data_type dtype, auto&& source_of) {
    std::optional<block_form> new_form;
    piece_list pieces;
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i) {
        piece const p = tensor.pieces[i];
        if (p.source == zero_source)
            continue;
        scale_source from = source_of(p.source);
        if (from.form.block.empty())
            from.form = form;
        check_scaled(p, from.form);
        scaled_piece const piece = scales_of_piece(p, tensor.shape, from);
        if (!new_form)
            pieces = piece_list(scale_counts(tensor.shape, piece.form).size());
        else if (*new_form != piece.form)
            fail(errc::shape_mismatch, "blocks of ", new_form->block, " and of ", piece.form.block,
                 " cannot be combined in one tensor");
        new_form = piece.form;
        if (from.dtype != dtype)
            fail(errc::dtype_mismatch, "scales of ", from.dtype, " and ", dtype,
                 " cannot be combined in one tensor");
        for (std::size_t k = 0; k < piece.scales.size(); ++k)
            add_scales(pieces, piece.scales[k], piece.form);
    }
    block_form const target = new_form.value_or(form);
    check_axes(target, tensor.ndim());
    index_vector const shape = scale_counts(tensor.shape, target);
    if (!new_form)
        pieces = piece_list(shape.size());
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i)
        if (tensor.pieces.source(i) == zero_source)
            add_zero_scales(pieces, tensor.pieces.target_box(i), target, dtype);
    return {target, {shape, dtype, std::move(pieces)}};
}

/// Returns only the scales of `scales_and_form`.
constexpr expression block_scales(expression const& tensor, block_form const& form, data_type dtype,
                                  auto&& source_of) {
    return scales_and_form(tensor, form, dtype, source_of).scales;
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/block_scales.ipp>
#endif

#endif
