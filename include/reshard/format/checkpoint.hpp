// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_CHECKPOINT_HPP
#define RESHARD_FORMAT_CHECKPOINT_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/os/file_store.hpp>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Opens a checkpoint of any format that we read, without reading its data.

namespace reshard {

/// The checkpoint at `path`, whose kind is found by looking: a safetensors file, a Hugging Face
/// directory with or without an index, a directory of sharded safetensors; what
/// torch.distributed.checkpoint or torch.save wrote; arrays of NumPy.
///
/// Of a Unified Checkpoint `w.w_0` is the master weight of `w`, and `w.moment1_0` a moment. If it
/// has the weights once, as they are or as master weights, `w.w_0` is another name of `w`.
///
/// Only headers and indexes are read. Whether the shards of a tensor cover it is checked when
/// planning.
///
/// \throws error with errc::missing_file for a path, or a file of an index, that does not exist;
///         with errc::unsupported if something else is found, or another format than
///         `options.from`; with errc::corrupt_file for bytes that contradict their format, an index
///         that contradicts its files, or files that contradict each other; it names the files, the
///         tensor and both numbers
RESHARD_DECL checkpoint_metadata open_checkpoint(std::filesystem::path const& path,
                                                 detail::safetensors_options const& options = {});

namespace detail {

/// The same in other files than the system's, and the files that have its shards at these
/// positions.
RESHARD_DECL opened_checkpoint open_files(std::shared_ptr<file_store const> files,
                                          std::filesystem::path const& path,
                                          safetensors_options const& options);

/// The format of files that `--source-layout` describes.
inline constexpr std::string_view rank_files_format = "rank_files";

/// The same without a selection and without warnings about other files beside it.
RESHARD_DECL opened_checkpoint open_unselected(std::shared_ptr<file_store const> files,
                                               std::filesystem::path const& path,
                                               safetensors_options const& options);

/// Files of ranks in a directory, which `options.source_layout` describes (`rank_files`): a tensor
/// is assembled by the rules. Replicas are read, and have to be equal.
///
/// \throws error with errc::bad_layout for that description; errc::missing_file for a rank without
///         a file; errc::corrupt_file for one too many, a rank without a tensor that others have
///         their part of, a shape that the rule does not give, and replicas that differ; it names
///         the files, the key and both sides
RESHARD_DECL opened_checkpoint open_rank_files(std::shared_ptr<file_store const> files,
                                               std::filesystem::path const& path,
                                               safetensors_options const& options);

/// The names of the formats that are read, sorted.
RESHARD_DECL std::vector<std::string> names_of_read_formats();

/// The checkpoint of safetensors files at `path`.
RESHARD_DECL checkpoint_metadata open_in(file_store const& files, std::filesystem::path const& path,
                                         safetensors_options const& options);

/// True for a directory with a file that only the directory of a checkpoint has.
RESHARD_DECL bool is_checkpoint_directory(file_store const& files,
                                          std::filesystem::path const& directory);

/// True for the names that files with tensors, or lists of them, usually have.
RESHARD_DECL bool may_hold_tensors(std::string_view name);

/// The names of the files of a checkpoint.
RESHARD_DECL std::set<std::string> names_in(checkpoint_metadata const& opened);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/checkpoint.ipp>
#include <reshard/format/impl/rank_files.ipp>
#endif

#endif
