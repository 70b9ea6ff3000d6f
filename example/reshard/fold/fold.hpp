// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_FOLD_FOLD_HPP
#define RESHARD_TOOL_FOLD_FOLD_HPP

#include <reshard/aoa/lower.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/catalog.hpp>

#include <string>

/// \file
/// A program without macros as one with them.

namespace tool {

/// The shortest program that is found to mean the same as `lines`, a statement each, without
/// macros, for tensors of `source` and `target`: statements that differ in numbers only as one with
/// `$LAYER_ID`, and the expansions of fused macros as these macros.
///
/// \post it is expanded and lowered to the mapping of `lines`; if nothing shorter is, it is `lines`
reshard::vector<std::string> fold(reshard::vector<std::string> const& lines,
                                  reshard::catalog const& source, reshard::catalog const& target,
                                  reshard::aoa::lower_options const& options);

} // namespace tool

#endif
