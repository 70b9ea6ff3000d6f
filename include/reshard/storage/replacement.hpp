// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_REPLACEMENT_HPP
#define RESHARD_STORAGE_REPLACEMENT_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/checkpoint_metadata.hpp>

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

/// \file
/// The paths that a new checkpoint may replace, and the files that stay. Nothing here writes.

namespace reshard::detail {

struct written_format;

/// The name of an empty file beside a record: `retain` must not delete that save.
inline constexpr std::string_view pin_name = "reshard.pinned";

/// The directory that a path means: symbolic links are followed, never replaced.
///
/// \throws error with errc::io for a link to nothing
RESHARD_DECL std::filesystem::path resolved(std::filesystem::path const& target);

/// Refuses to replace a save that a delta beside it needs: nobody could read that any more.
///
/// \throws error with errc::already_exists, naming the delta
RESHARD_DECL void check_not_needed(std::filesystem::path const& target);

/// What in a directory is neither of its checkpoint nor a file that holds no tensors: the first by
/// name, if any.
RESHARD_DECL std::optional<std::filesystem::path>
stranger_in(std::filesystem::path const& directory);

/// The files beside the checkpoint in a directory that hold no tensors: configuration, tokenizer;
/// not a pin, which is for that checkpoint alone. None if the checkpoint is a single file.
RESHARD_DECL std::vector<std::filesystem::path> side_files(checkpoint_metadata const& checkpoint);

/// The names of directories beside the checkpoint in a directory. Hidden ones do not count.
RESHARD_DECL std::vector<std::string> side_directories(checkpoint_metadata const& checkpoint);

/// The files of a directory that a new checkpoint in it keeps: files beside the old one that hold
/// no tensors, such as a tokenizer.
///
/// \throws error with errc::already_exists that names what would be lost: a directory, or a file
///         that may hold tensors and is not listed; anything, if there is no checkpoint
RESHARD_DECL std::vector<std::filesystem::path> files_to_keep(std::filesystem::path const& target);

/// Refuses a file that is not a checkpoint by itself.
RESHARD_DECL void check_replaced_file(std::filesystem::path const& target);

/// Refuses a target that cannot be one file of tensors, or that would be taken for a part of the
/// sharded checkpoint in its directory.
///
/// \param format of the file
RESHARD_DECL void check_file_target(std::filesystem::path const& target,
                                    written_format const& format);

/// Refuses a directory that cannot be renamed.
RESHARD_DECL void check_no_mount_point(std::filesystem::path const& target);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/replacement.ipp>
#endif

#endif
