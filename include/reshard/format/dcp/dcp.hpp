// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_DCP_DCP_HPP
#define RESHARD_FORMAT_DCP_DCP_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/format/dcp/dcp_items.hpp>
#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/os/file_store.hpp>

#include <filesystem>
#include <memory>

/// \file
/// The native format of torch.distributed.checkpoint: `.metadata` and `__0_0.distcp`.

namespace reshard::detail {

/// The checkpoint of that `.metadata`. Of the files beside it only their lengths are looked at;
/// where the elements of a shard are in its item is read with it.
///
/// \throws error with errc::corrupt_file for metadata that contradict themselves, or ask for bytes
///         that a file does not have; errc::missing_file for a file that is not there;
///         errc::unsupported for what metadata of torch 2.0 to 2.15 do not have, and for items that
///         an extension transformed
/// \par Source torch.distributed.checkpoint, `FileSystemWriter` of torch 2.0 to 2.15; there any
///             pickle is run
RESHARD_DECL opened_checkpoint open_dcp(std::shared_ptr<file_store const> files,
                                        std::filesystem::path const& metadata);

/// Files that hold the layout in the native format of torch.distributed.checkpoint, each different
/// shard once, `__R_0.distcp` for rank `R`. Objects are in the first of them.
///
/// Names of tensors are not taken apart: one of `planner_data` is the path to itself.
///
/// \throws error with errc::unsupported for flattened shards and for data types that torch does not
///         have, naming the key
/// \par Source torch.distributed.checkpoint, `FileSystemWriter`; its classes are those of torch 2.3
///             and later
RESHARD_DECL checkpoint_plan plan_dcp(layout const& target, file_choices const& choices);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/dcp/impl/dcp.ipp>
#include <reshard/format/dcp/impl/dcp_plan.ipp>
#endif

#endif
