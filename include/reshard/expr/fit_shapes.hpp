// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_FIT_SHAPES_HPP
#define RESHARD_EXPR_FIT_SHAPES_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/layout.hpp>

#include <string>
#include <vector>

/// \file
/// Tensors whose shapes may differ on the two sides, as that of a padded vocabulary does.

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

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/fit_shapes.ipp>
#endif

#endif
