// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_MODELS_HPP
#define RESHARD_TOOL_MODELS_HPP

#include <reshard/core/vector.hpp>
#include <reshard/layout/catalog.hpp>

#include <string>

/// \file
/// Published models: names, shapes and data types of the tensors in their checkpoints.

namespace tool {

/// The names that `tensors_of_model` accepts.
reshard::vector<std::string> model_names();

/// The tensors of a model, with hidden size, feed-forward sizes and vocabulary divided by `scale`.
///
/// \throws error with errc::usage for an unknown model, or a scale that does not divide a size
reshard::catalog tensors_of_model(std::string const& name, reshard::index_t scale);

} // namespace tool

#endif
