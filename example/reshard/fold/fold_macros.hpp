// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_FOLD_FOLD_MACROS_HPP
#define RESHARD_TOOL_FOLD_FOLD_MACROS_HPP

#include "fold/fold_layers.hpp"
#include "fold/folded_line.hpp"

#include <reshard/core/vector.hpp>

/// \file
/// Statements that macros have been expanded to, put together again.

namespace tool {

/// The same program with `fused_ffn`, `fused_qkv`, `fused_qkv_old` and `^T` if statements look like
/// their expansions, and without names that are only passed on.
///
/// Its meaning has to be compared: the number of parts of a fused macro comes from the layouts.
reshard::vector<folded_line> with_macros(reshard::vector<folded_line> lines,
                                         tensor_names const& is_tensor);

} // namespace tool

#endif
