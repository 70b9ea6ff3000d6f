// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_PUT_IN_PLACE_HPP
#define RESHARD_STORAGE_PUT_IN_PLACE_HPP

#include <reshard/core/config.hpp>

#include <cerrno>
#include <filesystem>
#include <string_view>

/// \file
/// A directory takes its place, or that of another one, in one step.

namespace reshard::detail {

RESHARD_DECL void write_new_file(std::filesystem::path const& path, std::string_view text);

/// Writes a file beside `target` and gives it that name when it is complete; a file that is there
/// is replaced.
///
/// A process that dies leaves `.NAME.partial-` and numbers, never half a file.
///
/// \throws error with errc::io, naming the target; then what is there is what it was
RESHARD_DECL void write_whole_file(std::filesystem::path const& target, std::string_view text);

/// Gives `source` the name `target`; returns 0 or what the system says.
inline int try_rename(std::filesystem::path const& source, std::filesystem::path const& target) {
    return ::rename(source.c_str(), target.c_str()) == 0 ? 0 : errno;
}

/// The same where the file system cannot: for a moment there is no `target`.
///
/// \post where it fails, both are what they were; where even that fails, the message says where the
///       old one is
RESHARD_DECL void exchange_in_steps(std::filesystem::path const& fresh,
                                    std::filesystem::path const& target);

/// Waits until the names in a directory are on the disk.
RESHARD_DECL void sync_directory(std::filesystem::path const& path);

/// Puts the directory `fresh` in the place of `target`, in one step where the system can.
///
/// \post   `fresh` is gone, or is what `target` was
/// \throws error with errc::already_exists where something is at the target by now and `replace` is
///         false; with errc::io where the system refuses; then both are what they were
RESHARD_DECL void put_in_place(std::filesystem::path const& fresh,
                               std::filesystem::path const& target, bool replace);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/put_in_place.ipp>
#endif

#endif
