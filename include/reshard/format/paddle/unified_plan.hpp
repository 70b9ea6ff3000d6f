// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PADDLE_UNIFIED_PLAN_HPP
#define RESHARD_FORMAT_PADDLE_UNIFIED_PLAN_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/layout/layout.hpp>

/// \file
/// Unified Checkpoints of PaddleNLP that are to be written.

namespace reshard::detail {

/// Files with the whole tensors of a layout of one rank, and an index for each part: `w.w_0` is the
/// master weight of `w` where both are there, and `w.moment1_0` and the other states of Paddle's
/// Adam are the optimizer's. All other tensors are the model's.
///
/// \throws error as `plan_safetensors` does; errc::unsupported for shards that are no whole
///         tensors, and for data types that Paddle does not have
/// \par Source the trainer of PaddleNLP: one file for each part, numbered from 1
RESHARD_DECL checkpoint_plan plan_unified(layout const& target, file_choices const& choices);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/paddle/impl/unified_plan.ipp>
#endif

#endif
