// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_BY_NAME_HPP
#define RESHARD_EXPR_BY_NAME_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/layout.hpp>

#include <string>
#include <vector>

/// \file
/// The default program: every target tensor is the source tensor of the same name.

namespace reshard::detail {

/// The program whose outputs have the shapes of `target` where a pattern of keys allows it: each
/// axis is cropped, or extended with zeros, at its tail.
///
/// Outputs whose shapes have another number of axes, and those that no pattern matches, stay as
/// they are.
///
/// \throws     error with errc::unknown_key for a pattern that matches no key of `target`
/// \par Source `allow_shape_mismatch` of Megatron-Core, which pads and crops vocabularies
RESHARD_DECL mapping fit_shapes(mapping program, layout const& target,
                                std::vector<std::string> const& allowed);

/// `wanted by rank 2`, for the first rank that has a shard of the tensor.
RESHARD_DECL std::string wanted_by_rank(tensor_shards const& shards);

/// The mapping in which every key that the ranks of `target` hold is the source tensor of that
/// name.
///
/// \throws error with errc::unknown_key when `source` does not have a key, naming a rank that wants
///         it
RESHARD_DECL mapping by_name(catalog const& source, layout const& target);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/by_name.ipp>
#endif

#endif
