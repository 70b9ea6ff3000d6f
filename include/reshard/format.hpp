// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_HPP
#define RESHARD_FORMAT_HPP

#include <reshard/format/checkpoint.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/format/layout_file.hpp>
#include <reshard/format/names/inner_optimizer.hpp>
#include <reshard/format/names/numbered_names.hpp>
#include <reshard/format/names/variable_names.hpp>
#include <reshard/format/network_file.hpp>
#include <reshard/format/safetensors.hpp>

/// \file
/// Reads metadata from files: checkpoints, layout files and networks, without MPI and without
/// reading data.

#endif
