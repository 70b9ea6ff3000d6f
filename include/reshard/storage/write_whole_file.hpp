// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_WRITE_WHOLE_FILE_HPP
#define RESHARD_STORAGE_WRITE_WHOLE_FILE_HPP

#include <reshard/core/config.hpp>

#include <filesystem>
#include <string_view>

/// \file
/// A file that appears at once, complete, or not at all.

namespace reshard::detail {

RESHARD_DECL void write_new_file(std::filesystem::path const& path, std::string_view text);

/// Writes a file beside `target` and gives it that name when it is complete; a file that is there
/// is replaced.
///
/// A process that dies leaves `.NAME.partial-` and numbers, never half a file.
///
/// \throws error with errc::io, naming the target; then what is there is what it was
RESHARD_DECL void write_whole_file(std::filesystem::path const& target, std::string_view text);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/write_whole_file.ipp>
#endif

#endif
