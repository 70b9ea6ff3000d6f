// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_DCP_DCP_HPP
#define RESHARD_FORMAT_DCP_DCP_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/dcp/dcp_items.hpp>
#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/os/file_store.hpp>

#include <filesystem>
#include <memory>

/// \file
/// The native format of torch.distributed.checkpoint: `.metadata` and `__0_0.distcp`.

namespace reshard::detail {

/// The checkpoint of that `.metadata`. Of the files beside it only their lengths are looked at; where the elements of a shard are in its item is read with it.
///
/// \throws error with errc::corrupt_file for metadata that contradict themselves, or ask for bytes
///         that a file does not have; errc::missing_file for a file that is not there;
///         errc::unsupported for what metadata of torch 2.0 to 2.15 do not have, and for items that
///         an extension transformed
/// \par Source torch.distributed.checkpoint, `FileSystemWriter` of torch 2.0 to 2.15; there any
///             pickle is run
RESHARD_DECL opened_checkpoint open_dcp(std::shared_ptr<file_store const> files,
                                        std::filesystem::path const& metadata);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/dcp/impl/dcp.ipp>
#endif

#endif
