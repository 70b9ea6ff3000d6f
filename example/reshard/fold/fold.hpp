// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_FOLD_FOLD_HPP
#define RESHARD_TOOL_FOLD_FOLD_HPP

#include <reshard/aoa/lower.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/catalog.hpp>

#include <string>

/// \file
/// Rewrites a program without macros as a shorter one with macros.

namespace tool {

/// The shortest program found that means the same as `lines` for tensors of `source` and `target`.
///
/// Each of `lines` is a statement without macros. Statements that differ only in numbers become one
/// statement with `$LAYER_ID`. Expansions of fused macros become the macros.
///
/// \post the result expands and lowers to the mapping of `lines`; it is `lines` if no shorter
///       program does
reshard::vector<std::string> fold(reshard::vector<std::string> const& lines,
                                  reshard::catalog const& source, reshard::catalog const& target,
                                  reshard::aoa::lower_options const& options);

} // namespace tool

#endif
