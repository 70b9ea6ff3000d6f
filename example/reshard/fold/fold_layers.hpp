// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_FOLD_FOLD_LAYERS_HPP
#define RESHARD_TOOL_FOLD_FOLD_LAYERS_HPP

#include "fold/folded_line.hpp"

#include <reshard/core/vector.hpp>

#include <cstddef>
#include <functional>
#include <string>

/// \file
/// Statements of all layers as one with a placeholder.

namespace tool {

/// Whether a name is a tensor's, of either side; other names are of temporaries.
using tensor_names = std::function<bool(std::string const&)>;

/// How many statements differ from each other in more than their numbers: each of these is a
/// group, by the order of the first ones.
std::size_t count_groups(reshard::vector<folded_line> const& lines);

/// The statements of each group that `folds` is true for as one, in which numbers that vary
/// together can be a `$LAYER_ID` or an `$EXPERT_ID`.
///
/// It takes the position of the first of them, or of the last if it reads temporaries: after all
/// statements that make these.
reshard::vector<folded_line> by_layers(reshard::vector<folded_line> const& lines,
                                       tensor_names const& is_tensor,
                                       std::function<bool(std::size_t)> const& folds);

} // namespace tool

#endif
