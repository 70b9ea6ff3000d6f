// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_LIKE_HPP
#define RESHARD_TOOL_LIKE_HPP

#include <reshard/aoa/reverse.hpp>
#include <reshard/core/vector.hpp>

#include <string>

/// \file
/// Reads the shapes and data types of the tensors that a program restores, for `--like`.

namespace tool {

/// Shapes and data types of the tensors in a checkpoint, in its headers, or in a layout file.
///
/// A header is a safetensors file, possibly without its data, the JSON of its header, or the output
/// of `reshard inspect --json`.
///
/// \post   the tensors are known, but not marked as wanted
/// \throws error for a file that is unreadable, or does not contain shapes and data types
reshard::vector<reshard::aoa::known_tensor> tensors_like(std::string const& path);

} // namespace tool

#endif
