// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_TORCH_DEEPSPEED_HPP
#define RESHARD_FORMAT_TORCH_DEEPSPEED_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/os/file_store.hpp>

#include <filesystem>
#include <memory>
#include <string_view>

/// \file
/// Universal Checkpoints of DeepSpeed: `zero/<parameter>/fp32.pt`, and its states beside it.

namespace reshard::detail {

inline constexpr std::string_view deepspeed_format = "deepspeed_universal";

/// Whether a directory is a Universal Checkpoint.
RESHARD_DECL bool is_deepspeed_universal(file_store const& files,
                                         std::filesystem::path const& directory);

/// Opens the 32-bit parameters, and the states of each parameter: `w`, `w.exp_avg`, `w.exp_avg_sq`,
/// `w.step`.
///
/// Other files in the directory, such as the model in its own data type, are not read, and a
/// warning says so. The tensor-parallel axis of a parameter (`cat_dim`) is not needed.
///
/// \throws error with errc::corrupt_file for a file without a tensor; see also `torch_archive`
/// \par Source ds_to_universal of DeepSpeed 0.19: a dict with `param`, or, from ZeRO stage 3, a
///             tensor of one axis
RESHARD_DECL opened_checkpoint open_deepspeed_universal(std::shared_ptr<file_store const> files,
                                                        std::filesystem::path const& directory);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/torch/impl/deepspeed.ipp>
#endif

#endif
