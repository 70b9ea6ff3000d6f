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
/// Decides which paths a new checkpoint may replace, and which files stay. Nothing here writes.

namespace reshard::detail {

struct written_format;

/// The name of an empty file that pins a save: `retain` must not delete it.
inline constexpr std::string_view pin_name = "reshard.pinned";

/// The directory that a path names. Symbolic links are followed, so that a link itself is never
/// replaced.
///
/// \throws error with errc::io for a link whose target does not exist
RESHARD_DECL std::filesystem::path resolved(std::filesystem::path const& target);

/// Refuses to replace a save that a delta beside it needs, since the delta would become unreadable.
///
/// \throws error with errc::already_exists, naming the delta
RESHARD_DECL void check_not_needed(std::filesystem::path const& target);

/// The first entry of a directory, by name, that is not part of the checkpoint and may hold
/// tensors; std::nullopt if there is none.
RESHARD_DECL std::optional<std::filesystem::path>
stranger_in(std::filesystem::path const& directory);

/// The files beside a checkpoint that hold no tensors, such as a configuration or a tokenizer. A
/// pin is not included, since it belongs to this checkpoint alone. Empty if the checkpoint is a
/// single file.
RESHARD_DECL vector<std::filesystem::path> side_files(checkpoint_metadata const& checkpoint);

/// The names of the directories beside a checkpoint's files, except hidden directories.
RESHARD_DECL vector<std::string> side_directories(checkpoint_metadata const& checkpoint);

/// The files of a directory that stay if a new checkpoint replaces the old checkpoint: files that
/// hold no tensors, such as a tokenizer.
///
/// \throws error with errc::already_exists, naming an entry that would be lost: a directory, or a
///         file that may hold tensors and is not part of the checkpoint. Without a checkpoint, any
///         entry
RESHARD_DECL vector<std::filesystem::path> files_to_keep(std::filesystem::path const& target);

/// Refuses to replace a file that is not a checkpoint by itself.
RESHARD_DECL void check_replaced_file(std::filesystem::path const& target);

/// Refuses a target that cannot be a single file of tensors, or that readers would mistake for a
/// file of a sharded checkpoint in its directory.
///
/// \param format the format of the file
RESHARD_DECL void check_file_target(std::filesystem::path const& target,
                                    written_format const& format);

/// Refuses a directory that cannot be renamed, since it is a mount point.
RESHARD_DECL void check_no_mount_point(std::filesystem::path const& target);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/replacement.ipp>
#endif

#endif
