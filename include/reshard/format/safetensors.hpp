// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_SAFETENSORS_HPP
#define RESHARD_FORMAT_SAFETENSORS_HPP

#include <reshard/format/safetensors_reader.hpp>
#include <reshard/format/safetensors_writer.hpp>

/// \file
/// safetensors: one file with named tensors, a JSON header before their data.

#endif
