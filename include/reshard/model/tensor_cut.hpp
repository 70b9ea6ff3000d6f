// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_TENSOR_CUT_HPP
#define RESHARD_MODEL_TENSOR_CUT_HPP

#include <reshard/core/index_vector.hpp>

#include <cstddef>

/// \file
/// How tensor parallelism cuts each kind of layer.

namespace reshard {

namespace model {

/// The order of the axes in the weight of a linear layer.
enum class weight_order {
    out_in, ///< [out, in]: PyTorch, Megatron-Core, Hugging Face
    in_out, ///< [in, out]: PaddlePaddle
};

/// The axis along which tensor parallelism cuts a tensor, and the units that it keeps whole.
///
/// The functions below make the usual cuts.
struct tensor_cut {
    enum class kind {
        none,       ///< every rank has the whole tensor
        equal,      ///< equal parts
        heads,      ///< equal parts of whole heads; ranks share heads if there are fewer heads
        vocabulary, ///< equal parts of a padded extent, clipped to the real extent
        gate_up,    ///< a gate, then an up, each in equal parts
        qkv,        ///< groups, each with query heads, a key head and a value head
    };

    kind type = kind::none;
    std::size_t axis = 0;
    index_t heads = 0;  ///< `heads`: their number; `qkv`: query heads; `vocabulary`: padded extent
    index_t groups = 0; ///< `qkv`: the number of groups

    constexpr bool operator==(tensor_cut const&) const = default;
};

/// No cut: norms, routers, biases of row-parallel layers, all layers in sequence-parallel regions.
constexpr tensor_cut replicated() { return {}; }

/// The weight of a layer whose output is cut: q, gate, up.
constexpr tensor_cut column_parallel(weight_order order = weight_order::out_in) {
    return {tensor_cut::kind::equal, order == weight_order::out_in ? 0U : 1U};
}

/// The bias of a layer whose output is cut.
constexpr tensor_cut column_parallel_bias() { return {tensor_cut::kind::equal, 0}; }

/// The weight of a layer whose input is cut: o, down. Its bias is replicated.
constexpr tensor_cut row_parallel(weight_order order = weight_order::out_in) {
    return {tensor_cut::kind::equal, order == weight_order::out_in ? 1U : 0U};
}

/// The smallest multiple of `multiple * tp` that is not less than `vocabulary`.
///
/// \pre        `vocabulary >= 0`
/// \throws     error with errc::bad_layout if `multiple` or `tp` is less than 1
/// \par Source `make-vocab-size-divisible-by` of Megatron-LM, which is 128 there
constexpr index_t padded_vocabulary(index_t vocabulary, index_t multiple, index_t tp) {
    if (multiple < 1 || tp < 1)
        fail(errc::bad_layout, "a vocabulary cannot be padded to a multiple of ", multiple,
             " for tp=", tp);
    index_t const step = detail::checked_multiply(multiple, tp);
    return detail::checked_multiply(vocabulary / step + (vocabulary % step != 0), step);
}

/// An embedding, or a head with the same axes: each row is a word.
///
/// Ranks divide the extent `padded` equally (see `padded_vocabulary`), but no rank holds rows that
/// are only padding. If `padded` is 0, ranks divide the vocabulary itself.
constexpr tensor_cut vocabulary_parallel(index_t padded = 0) {
    if (padded == 0)
        return {tensor_cut::kind::equal, 0};
    return {tensor_cut::kind::vocabulary, 0, padded};
}

/// The axes of a head: [vocabulary, hidden] if the model transposes the head in use, or if it is
/// also the embedding; otherwise [hidden, vocabulary].
struct head_form {
    bool transposed = true; ///< `transpose_y` of PaddlePaddle
    bool tied = false;
};

/// The head of a model, cut along the axis of the vocabulary.
///
/// \par Source LMHead of PaddleNLP: axis 0 of [vocabulary, hidden], axis 1 of [hidden, vocabulary]
constexpr tensor_cut head_parallel(head_form form) {
    return {tensor_cut::kind::equal, form.transposed || form.tied ? 0U : 1U};
}

/// A weight whose outputs are `heads` heads: k and v.
///
/// If there are fewer heads than ranks, neighbouring ranks hold the same head.
constexpr tensor_cut head_cut(index_t heads, weight_order order = weight_order::out_in) {
    return {tensor_cut::kind::heads, order == weight_order::out_in ? 0U : 1U, heads};
}

/// A gate and then an up in one weight. A rank holds a part of each, and stores the two parts one
/// after the other.
///
/// \par Source `linear_fc1` of Megatron-Core, as its sharded state dict has it
constexpr tensor_cut fused_gate_up(weight_order order = weight_order::out_in) {
    return {tensor_cut::kind::gate_up, order == weight_order::out_in ? 0U : 1U};
}

/// Query, key and value heads in one weight: for each of `groups` groups, its query heads, its key
/// head and its value head.
///
/// Ranks divide the groups equally. If there are more ranks than groups, the ranks of one group
/// divide its query heads, and each of them holds its key head and value head.
///
/// \par Source `linear_qkv` of Megatron-Core, `fused_qkv` of PaddlePaddle
constexpr tensor_cut fused_qkv_cut(index_t query_heads, index_t groups,
                                   weight_order order = weight_order::out_in) {
    return {tensor_cut::kind::qkv, order == weight_order::out_in ? 0U : 1U, query_heads, groups};
}

} // namespace model

} // namespace reshard

#endif
