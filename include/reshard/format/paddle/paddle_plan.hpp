// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PADDLE_PADDLE_PLAN_HPP
#define RESHARD_FORMAT_PADDLE_PADDLE_PLAN_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/layout/layout.hpp>

/// \file
/// Flex Checkpoints of PaddlePaddle that are to be written.

namespace reshard::detail {

/// Files that hold the layout as a Flex Checkpoint of safetensors files, each different shard once:
/// `0.metadata`, and `R_0.safetensors` for rank `R`. Where a rank has several shards of one key, its
/// further files have numbers behind those of all ranks.
///
/// \throws error with errc::unsupported for data types that Paddle does not have, and for tensors
///         without elements, naming the key
/// \par Source paddle.distributed.flex_checkpoint of Paddle 3.3; it is loaded with
///             `safetensors=True`
RESHARD_DECL checkpoint_plan plan_paddle_flex(layout const& target, file_choices const& choices);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/paddle/impl/paddle_plan.ipp>
#endif

#endif
