// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_DCP_DCP_PLAN_HPP
#define RESHARD_FORMAT_DCP_DCP_PLAN_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/layout/layout.hpp>

/// \file
/// Checkpoints that torch.distributed.checkpoint and Megatron-Core read, to be written.

namespace reshard::detail {

/// Files that hold the layout in the native format of torch.distributed.checkpoint, each different
/// shard once, `__R_0.distcp` for rank `R`. Objects are in the first of them.
///
/// Names of tensors are not taken apart: one of `planner_data` is the path to itself.
///
/// \throws error with errc::unsupported for flattened shards and for data types that torch does not
///         have, naming the key
/// \par Source torch.distributed.checkpoint, `FileSystemWriter`; its classes are those of torch 2.3 and
///             later
RESHARD_DECL checkpoint_plan plan_dcp(layout const& target, file_choices const& choices);

/// The same with what Megatron-Core has beside it: `metadata.json`, and `common.pt` of the objects
/// that are common to all ranks.
///
/// \par Source megatron.core.dist_checkpointing of Megatron-Core 0.16
RESHARD_DECL checkpoint_plan plan_torch_dist(layout const& target, file_choices const& choices);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/dcp/impl/dcp_plan.ipp>
#endif

#endif
