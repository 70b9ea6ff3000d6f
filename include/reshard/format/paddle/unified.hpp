// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PADDLE_UNIFIED_HPP
#define RESHARD_FORMAT_PADDLE_UNIFIED_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/os/file_store.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// The Unified Checkpoint of PaddleNLP: a directory of whole tensors in safetensors files. The
/// model, its master weights and its optimizer state have an index each.

namespace reshard::detail {

/// The role of a file's tensors in a training.
enum class unified_part { model, master_weights, optimizer };

inline constexpr std::string_view unified_format = "unified_checkpoint";

/// The indexes of master weights and of optimizer state.
inline constexpr std::string_view master_index_name = "master_weights.safetensors.index.json";
inline constexpr std::string_view optimizer_index_name = "optimizer.safetensors.index.json";

/// The names of their files, if there is only one file and no index.
inline constexpr std::string_view master_single_name = "master_weights.safetensors";
inline constexpr std::string_view optimizer_single_name = "optimizer.safetensors";

/// The suffix of the key of a master weight, after the key of its weight.
inline constexpr std::string_view master_key_suffix_of_paddle = ".w_0";

/// The path of a part's index in a directory, or of the part's only file; empty if the directory
/// lacks the part.
RESHARD_DECL std::optional<std::filesystem::path>
find_part(file_store const& files, std::filesystem::path const& directory, unified_part part);

/// Whether a directory has master weights or optimizer state.
RESHARD_DECL bool is_unified(file_store const& files, std::filesystem::path const& directory);

/// The key of a tensor that has `name` in a file of a part: `w.w_0` for the master weight `w`, and
/// `w.moment1_0` for `w/moment1_0` of the optimizer. In this form, programs find the states of `w`.
RESHARD_DECL std::string key_in_part(unified_part part, std::string_view name);

/// The element type in a file of PaddleNLP. NumPy has no bf16, so PaddleNLP writes and reads bf16
/// as unsigned 16-bit integers. Versions before 3.0.0b4 read only this form.
inline data_type written_type_of_paddle(data_type dtype) {
    return dtype == data_type::bf16 ? data_type::u16 : dtype;
}

/// The element type for which a file of PaddleNLP states `dtype`.
inline data_type type_of_paddle(data_type dtype) {
    return dtype == data_type::u16 ? data_type::bf16 : dtype;
}

/// The sorted names of the files in a directory that have master weights or optimizer state and are
/// in no index. Each of these files belongs to one rank (`ignore_merge_optimizer`).
///
/// \param read the names of the files that an index lists
RESHARD_DECL vector<std::string> unmerged_files(file_store const& files,
                                                std::filesystem::path const& directory,
                                                vector<std::string> const& read);

/// The sorted names of the files in a directory that have the same contents in an older format:
/// PaddleNLP's format before Unified Checkpoints, or the format of torch.save.
RESHARD_DECL vector<std::string> older_files(file_store const& files,
                                             std::filesystem::path const& directory);

/// Plans files with the whole tensors of a layout of one rank, and an index for each part. A 32-bit
/// `w.w_0` is the master weight of `w`; `w` may be absent (`skip_save_model_weight`) if a state of
/// `w` or another weight exists. `w.moment1_0` and the other states of Paddle's Adam belong to the
/// optimizer. All other tensors, and variables such as `linear_0.w_0`, belong to the model.
///
/// \throws error as `plan_safetensors` does; errc::unsupported for shards that are not whole
///         tensors, and for data types that Paddle does not have
/// \par Source the trainer of PaddleNLP: one file for each part, numbered from 1
RESHARD_DECL checkpoint_plan plan_unified(layout const& target, file_choices const& choices);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/paddle/impl/unified.ipp>
#include <reshard/format/paddle/impl/unified_plan.ipp>
#endif

#endif
