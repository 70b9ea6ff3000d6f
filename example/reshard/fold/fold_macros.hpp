// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_FOLD_FOLD_MACROS_HPP
#define RESHARD_TOOL_FOLD_FOLD_MACROS_HPP

#include "fold/fold_layers.hpp"
#include "fold/folded_line.hpp"

#include <reshard/core/vector.hpp>

/// \file
/// Replaces statements from expanded macros by the macros.

namespace tool {

/// The same program with `fused_ffn`, `fused_qkv`, `fused_qkv_old` and `^T` for statements that
/// look like their expansions, and without temporaries that only pass a tensor on.
///
/// The caller has to compare the meaning, since the number of parts of a fused macro comes from the
/// layouts.
reshard::vector<folded_line> with_macros(reshard::vector<folded_line> lines,
                                         tensor_names const& is_tensor);

} // namespace tool

#endif
