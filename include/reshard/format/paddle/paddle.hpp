// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PADDLE_PADDLE_HPP
#define RESHARD_FORMAT_PADDLE_PADDLE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/os/file_store.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

/// \file
/// Checkpoints of PaddlePaddle: Flex Checkpoint, and the files of `paddle.save`.

namespace reshard::detail {

/// The metadata file of the Flex Checkpoint in that directory: `0.metadata`, or the file with the
/// highest number, which the latest save wrote; empty if there is none.
RESHARD_DECL std::optional<std::filesystem::path>
find_paddle_metadata(file_store const& files, std::filesystem::path const& directory);

/// Opens the Flex Checkpoint of that metadata file. Its tensors are in pickles (`0_0.distcp`) or in
/// safetensors files. Of the latter, only the lengths are checked.
///
/// \throws error with errc::corrupt_file for metadata that contradicts itself;
///         errc::missing_file for a file that does not exist; errc::unsupported for contents that
///         metadata of Paddle 3 does not have
/// \par Source paddle.distributed.flex_checkpoint of Paddle 3.3; there any pickle is executed
RESHARD_DECL opened_checkpoint open_paddle_flex(std::shared_ptr<file_store const> files,
                                                std::filesystem::path const& metadata);

/// The tensors of a file of `paddle.save`: `.pdparams`, `.pdopt`. Tensors in dicts and lists have
/// names with dots. Unsigned elements of 16 bits are bf16, because Paddle has no unsigned 16-bit
/// type. In protocol 2, elements are text, and are decoded when they are read. In files of protocol
/// 2 and 3, Paddle cuts tensors above a GiB; here each is one tensor again.
///
/// \throws error with errc::corrupt_file for parts that do not fit their tensor
RESHARD_DECL opened_checkpoint open_paddle_file(std::shared_ptr<file_store const> files,
                                                std::filesystem::path const& path);

/// Paddle's name of a data type, such as `float32`.
///
/// \param  key the tensor with this data type, for messages
/// \throws error with errc::unsupported for a type that Paddle does not have
RESHARD_DECL std::string_view paddle_name(std::string_view key, data_type dtype);

/// Plans a Flex Checkpoint of safetensors files for the layout. Each different shard is written
/// once: `0.metadata`, and `R_0.safetensors` for rank `R`. If a rank has several shards of one key,
/// its further files are numbered after the ranks.
///
/// \throws error with errc::unsupported for data types that Paddle does not have, and for tensors
///         without elements, naming the key
/// \par Source paddle.distributed.flex_checkpoint of Paddle 3.3; load it there with
///             `safetensors=True`
RESHARD_DECL checkpoint_plan plan_paddle_flex(layout const& target, file_choices const& choices);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/paddle/impl/paddle.ipp>
#include <reshard/format/paddle/impl/paddle_plan.ipp>
#include <reshard/format/paddle/impl/paddle_saved.ipp>
#endif

#endif
