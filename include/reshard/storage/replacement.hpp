// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_REPLACEMENT_HPP
#define RESHARD_STORAGE_REPLACEMENT_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_metadata.hpp>

#include <filesystem>
#include <optional>
#include <string_view>

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

/// Refuses to replace a save that a delta beside it needs: the delta could not be read any more.
///
/// \throws error with errc::already_exists, naming the delta
RESHARD_DECL void check_not_needed(std::filesystem::path const& target);

/// The first entry of a directory, by name, that is neither part of its checkpoint nor a file
/// without tensors; if there is one.
RESHARD_DECL std::optional<std::filesystem::path>
stranger_in(std::filesystem::path const& directory);

/// The files beside the checkpoint in a directory that hold no tensors, such as a configuration or
/// a tokenizer. A pin is not among them: it is for that checkpoint alone. Empty if the checkpoint
/// is a single file.
RESHARD_DECL vector<std::filesystem::path> side_files(checkpoint_metadata const& checkpoint);

/// The names of the directories beside the checkpoint in a directory, except hidden ones.
RESHARD_DECL vector<std::string> side_directories(checkpoint_metadata const& checkpoint);

/// The files of a directory that stay if a new checkpoint replaces the old one: the files beside it
/// that hold no tensors, such as a tokenizer.
///
/// \throws error with errc::already_exists that names the entry that would be lost: a directory, or
///         a file that may hold tensors and is not listed; any entry if there is no checkpoint
RESHARD_DECL vector<std::filesystem::path> files_to_keep(std::filesystem::path const& target);

/// Refuses a file that is not a checkpoint by itself.
RESHARD_DECL void check_replaced_file(std::filesystem::path const& target);

/// Refuses a target that cannot be a single file of tensors, or that readers would take for a file
/// of the sharded checkpoint in its directory.
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
