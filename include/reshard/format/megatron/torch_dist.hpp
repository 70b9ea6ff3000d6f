// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_MEGATRON_TORCH_DIST_HPP
#define RESHARD_FORMAT_MEGATRON_TORCH_DIST_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/os/file_store.hpp>

#include <filesystem>
#include <memory>
#include <string_view>

/// \file
/// `torch_dist` of Megatron-Core: files of torch.distributed.checkpoint, and the common state.

namespace reshard::detail {

/// The file that says how the other files were written.
inline constexpr std::string_view megatron_metadata_name = "metadata.json";

/// The file of the common state of all ranks.
inline constexpr std::string_view megatron_common_name = "common.pt";

/// Opens the checkpoint of a `metadata.json` of Megatron-Core. Its tensors and objects include the
/// values of `common.pt`, which older versions write.
///
/// \throws error with errc::unsupported for another backend, or another version of the backend; see
///         also `open_dcp`, `open_torch_file`
/// \par Source megatron.core.dist_checkpointing of Megatron-Core 0.16; the tool compares the
///             checksums in `integrity.json`, this function does not
RESHARD_DECL opened_checkpoint open_torch_dist(std::shared_ptr<file_store const> files,
                                               std::filesystem::path const& metadata);

/// The files of `plan_dcp`, and the files that Megatron-Core adds: `metadata.json`, and `common.pt`
/// with the common objects of all ranks.
///
/// \throws error as `plan_dcp`
RESHARD_DECL checkpoint_plan plan_torch_dist(layout const& target, file_choices const& choices);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/megatron/impl/torch_dist.ipp>
#endif

#endif
