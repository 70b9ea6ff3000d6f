// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_CHECKPOINT_HPP
#define RESHARD_FORMAT_CHECKPOINT_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/os/file_store.hpp>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>

/// \file
/// Opens a checkpoint of any supported format, without reading its data.

namespace reshard {

/// Opens the checkpoint at `path` and detects its format: a safetensors file, a Hugging Face
/// directory with or without an index, a directory of sharded safetensors; files of
/// torch.distributed.checkpoint or torch.save; NumPy arrays.
///
/// In a Unified Checkpoint, `w.w_0` is the master weight of `w`, and `w.moment1_0` is a moment. If
/// a weight is stored only once, as itself or as its master weight, `w.w_0` is another name of `w`.
///
/// Reads headers, indexes, and values that are not tensors, but no data of tensors. Planning checks
/// whether the shards of a tensor cover it.
///
/// \throws error with errc::missing_file if the path, or a file that an index lists, does not
///         exist; with errc::unsupported if the format is unknown, or is not `options.from`; with
///         errc::corrupt_file for bytes that contradict their format, an index that contradicts its
///         files, or files that contradict each other; the error names the files, the tensor and
///         both numbers
RESHARD_DECL checkpoint_metadata open_checkpoint(std::filesystem::path const& path,
                                                 detail::safetensors_options const& options = {});

namespace detail {

/// The same for files of any store. Also returns the store of the files that have the shards at the
/// positions in the metadata.
RESHARD_DECL opened_checkpoint open_files(std::shared_ptr<file_store const> files,
                                          std::filesystem::path const& path,
                                          safetensors_options const& options);

/// The format of files that `--source-layout` describes.
inline constexpr std::string_view rank_files_format = "rank_files";

/// As `open_files`, but without a selection of keys, and without warnings about other files in the
/// directory.
RESHARD_DECL opened_checkpoint open_unselected(std::shared_ptr<file_store const> files,
                                               std::filesystem::path const& path,
                                               safetensors_options const& options);

/// Opens files of ranks in a directory, as `options.source_layout` describes them (`rank_files`).
/// Its rules say how tensors are assembled. Replicas are read, and must be equal.
///
/// \throws error with errc::bad_layout if the description is invalid; errc::missing_file for a rank
///         without a file; errc::corrupt_file for a surplus file, for a missing shard of a rank,
///         for a shape that contradicts the rule, and for replicas that differ; the error names the
///         files, the key and both sides
RESHARD_DECL opened_checkpoint open_rank_files(std::shared_ptr<file_store const> files,
                                               std::filesystem::path const& path,
                                               safetensors_options const& options);

/// The names of the formats that are read, sorted.
RESHARD_DECL vector<std::string> names_of_read_formats();

/// Opens the checkpoint of safetensors files at `path`.
RESHARD_DECL checkpoint_metadata open_in(file_store const& files, std::filesystem::path const& path,
                                         safetensors_options const& options);

/// True if the directory has a file that only checkpoint directories have.
RESHARD_DECL bool is_checkpoint_directory(file_store const& files,
                                          std::filesystem::path const& directory);

/// True for the usual names of files that have tensors or list tensors.
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
