// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_HPP
#define RESHARD_MODEL_HPP

#include <reshard/model/fully_shard.hpp>
#include <reshard/model/interleave.hpp>
#include <reshard/model/optimizer_state.hpp>
#include <reshard/model/parallel_tensor.hpp>
#include <reshard/model/tied_weights.hpp>
#include <reshard/model/zero.hpp>

/// \file
/// Layouts of training jobs: tensor, pipeline, expert and data parallel, ZeRO, tied weights.

#endif
