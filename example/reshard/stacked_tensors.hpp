// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_STACKED_TENSORS_HPP
#define RESHARD_TOOL_STACKED_TENSORS_HPP

#include <reshard/layout/catalog.hpp>

#include <cstddef>
#include <string>

/// \file
/// Megatron-Core's checkpoints may have one tensor for a weight of all layers, and one for a weight
/// of all experts of a layer: `decoder.layers.mlp.linear_fc2.weight` has an axis of layers in
/// front, `mlp.experts.experts.linear_fc2.weight` one of experts (after the axis of layers, if
/// both).

namespace tool {

/// Whether a key names a tensor that holds all layers.
bool is_stacked_tensor(std::string const& key);

/// Statements that take such tensors apart: `decoder.layers.0.mlp.linear_fc2.weight` and
/// `mlp.experts.linear_fc2.weight0`, names which programs for models have.
///
/// \throws error with errc::shape_mismatch for tensors of other numbers of layers, with
///         errc::limit_exceeded if there would be more than `most_names`
std::string unstacked(reshard::catalog const& source, std::size_t most_names);

/// Statements that put them together, as Megatron-Core does: experts always, layers if all have the
/// same tensors.
///
/// \throws error with errc::shape_mismatch for tensors of other shapes than in the first layer,
///         with errc::unknown_key for an expert that is missing
std::string stacked(reshard::catalog const& source);

} // namespace tool

#endif
