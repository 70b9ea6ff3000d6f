// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_INTERLEAVE_HPP
#define RESHARD_MODEL_INTERLEAVE_HPP

#include <reshard/core/vector.hpp>
#include <reshard/expr/concat.hpp>
#include <reshard/expr/split.hpp>

#include <cstddef>
#include <span>

/// \file
/// Fused weights: several tensors interleaved in blocks.

namespace reshard::detail {

/// \throws error with errc::shape_mismatch if `blocks` is below 1, or does not divide `extent`
constexpr void check_blocks(index_t extent, index_t blocks) {
    if (blocks < 1 || extent % blocks != 0)
        fail(errc::shape_mismatch, "tensors of extent ", extent,
             " along the axis cannot be interleaved in ", blocks, " equal blocks");
}

} // namespace reshard::detail

namespace reshard::model {

/// Cuts each of `tensors` along an axis into `blocks` equal pieces, and joins the pieces: first the
/// first piece of each tensor, then the second piece of each, and so on.
///
/// | fused weight | tensors | blocks |
/// |---|---|---|
/// | `linear_qkv` of Megatron-Core, `fused_qkv` of PaddlePaddle | q, k, v | key and value heads |
/// | `fused_qkv_old` of PaddlePaddle | q, k, v | tensor-parallel ranks |
/// | gate and up of PaddlePaddle (`fused_ffn`) | gate, up | tensor-parallel ranks |
/// | `linear_fc1` of Megatron-Core, as one tensor of all ranks | gate, up | 1 |
///
/// \throws error with errc::shape_mismatch if the tensors do not fit together, or the blocks do not
///         fit the tensors
constexpr expression interleave(std::span<expression const> tensors, std::size_t axis,
                                index_t blocks) {
    vector<vector<expression>> parts;
    for (expression const& tensor : tensors) {
        detail::check_axis(tensor, axis);
        detail::check_blocks(tensor.shape[axis], blocks);
        parts.push_back(split(tensor, axis, static_cast<std::size_t>(blocks)));
    }
    vector<expression> order;
    for (std::size_t block = 0; block < static_cast<std::size_t>(blocks); ++block)
        for (vector<expression> const& of_one : parts)
            order.push_back(of_one[block]);
    return concat(order, axis);
}
constexpr expression interleave(std::initializer_list<expression> tensors, std::size_t axis,
                                index_t blocks) {
    return interleave(std::span(tensors.begin(), tensors.size()), axis, blocks);
}

/// The tensors from which `interleave` made `fused`, given their extents along the axis.
///
/// \post   `interleave(deinterleave(fused, axis, blocks, extents), axis, blocks)` is `fused`
/// \throws error with errc::shape_mismatch if the extents do not sum to the extent of `fused`, or
///         the blocks do not fit them
constexpr vector<expression> deinterleave(expression const& fused, std::size_t axis, index_t blocks,
                                          vector<index_t> const& extents) {
    vector<index_t> sizes;
    for (index_t const extent : extents)
        detail::check_blocks(extent, blocks);
    for (index_t block = 0; block < blocks; ++block)
        for (index_t const extent : extents)
            sizes.push_back(extent / blocks);
    auto const parts = split(fused, axis, sizes);
    vector<expression> tensors;
    for (std::size_t i = 0; i < extents.size(); ++i) {
        vector<expression> of_one;
        for (std::size_t n = i; n < parts.size(); n += extents.size())
            of_one.push_back(parts[n]);
        tensors.push_back(concat(of_one, axis));
    }
    return tensors;
}

} // namespace reshard::model

#endif
