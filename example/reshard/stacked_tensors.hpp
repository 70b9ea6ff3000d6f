// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_STACKED_TENSORS_HPP
#define RESHARD_TOOL_STACKED_TENSORS_HPP

#include <reshard/layout/catalog.hpp>

#include <cstddef>
#include <string>

/// \file
/// Makes statements for quantised tensors and for stacked tensors. Megatron-Core's checkpoints may
/// stack a weight of all layers, or of all experts of a layer, in one tensor.
/// `decoder.layers.mlp.linear_fc2.weight` has an axis of layers in front.
/// `mlp.experts.experts.linear_fc2.weight` has an axis of experts, after the axis of layers if it
/// has both.

namespace tool {

/// Whether a key names a tensor that stacks all layers.
bool is_stacked_tensor(std::string const& key);

/// Statements that split stacked tensors into `decoder.layers.0.mlp.linear_fc2.weight` and
/// `mlp.experts.linear_fc2.weight0`: the names that programs for models use.
///
/// \throws error with errc::shape_mismatch if the tensors have different numbers of layers; with
///         errc::limit_exceeded for more than `most_names` tensors
std::string unstacked(reshard::catalog const& source, std::size_t most_names);

/// Statements that dequantize each quantised tensor. Packed tensors lose the endings of their keys,
/// and gpt-oss's get the axes that transformers has in bfloat16. Results that a pattern of `casts`
/// matches stay in float32, so that the cast after it rounds them once.
///
/// \param casts `PATTERN=DTYPE`, as `--cast` has them
/// \throws error with errc::unsupported for schemes that are not supported
std::string dequantized(reshard::catalog const& source, reshard::vector<std::string> const& casts);

/// The parts of a text between separators.
reshard::vector<std::string_view> parts_of(std::string_view text, std::string_view separator);

/// Statements that quantise weights, and the weights that stay as they are.
struct quantised_weights {
    std::string text;
    reshard::vector<std::string> misfits; ///< keys of weights whose shapes do not fit the scheme
    std::string problem;                  ///< of the first one; empty if all fit
};

/// Statements that quantise the weights that the quantisers of transformers convert: floating
/// matrices `NAME.weight` in layers. Embeddings, output layers and routers stay as they are, and so
/// do experts with schemes for which transformers does not read experts.
///
/// \throws error with errc::usage for an unknown scheme
quantised_weights quantized(reshard::catalog const& source, std::string const& scheme);

/// Statements that stack tensors as Megatron-Core does: experts always, and layers if all layers
/// have the same tensors.
///
/// \throws error with errc::shape_mismatch for experts of different shapes; with errc::unknown_key
///         for a missing expert
std::string stacked(reshard::catalog const& source);

} // namespace tool

#endif
