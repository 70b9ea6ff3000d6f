// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_LIKE_HPP
#define RESHARD_TOOL_LIKE_HPP

#include <reshard/aoa/reverse.hpp>
#include <reshard/core/vector.hpp>

#include <string>

/// \file
/// `--like`: the shapes and types of the tensors that a program restores.

namespace tool {

/// Shapes and data types of the tensors of a checkpoint, of its headers, or of a layout file.
///
/// Headers are safetensors files that may end after their header, such a header's JSON alone, and
/// what `reshard inspect --json` prints.
///
/// \post   nothing asks for the tensors: they are known, and not wanted
/// \throws error for what cannot be read, or does not say shapes and data types
reshard::vector<reshard::aoa::known_tensor> tensors_like(std::string const& path);

} // namespace tool

#endif
