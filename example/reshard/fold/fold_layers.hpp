// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_FOLD_FOLD_LAYERS_HPP
#define RESHARD_TOOL_FOLD_FOLD_LAYERS_HPP

#include "fold/folded_line.hpp"

#include <reshard/core/vector.hpp>

#include <cstddef>
#include <functional>
#include <string>

/// \file
/// Replaces the statements of all layers by one statement with a placeholder.

namespace tool {

/// Whether a name is a tensor of the source or target. Other names are temporaries.
using tensor_names = std::function<bool(std::string const&)>;

/// The number of groups of statements that differ only in their numbers. A group's index is by the
/// position of its first statement.
std::size_t count_groups(reshard::vector<folded_line> const& lines);

/// Replaces the statements of each group for which `folds` is true by one statement. Numbers that
/// vary together can become a `$LAYER_ID` or an `$EXPERT_ID`.
///
/// The new statement takes the position of the group's first statement. If it reads temporaries, it
/// takes the position of the last one, which is after all statements that make them.
reshard::vector<folded_line> by_layers(reshard::vector<folded_line> const& lines,
                                       tensor_names const& is_tensor,
                                       std::function<bool(std::size_t)> const& folds);

} // namespace tool

#endif
