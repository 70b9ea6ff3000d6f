// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_TEXT_FILE_HPP
#define RESHARD_FORMAT_TEXT_FILE_HPP

#include <reshard/core/config.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

/// \file
/// Reading the beginning of a file, or all of a small one.

namespace reshard::detail {

/// A file opened for reading, and its length.
struct open_file {
    std::ifstream stream;
    std::uint64_t bytes = 0;
};

/// \throws error with errc::missing_file where there is no such file, with errc::io where it cannot
///         be read
RESHARD_DECL open_file open_to_read(std::filesystem::path const& path);

/// The next `bytes` bytes.
///
/// Memory grows with what is really read, so that a length from the file itself may be asked for.
///
/// \throws error with errc::io where the file ends before, or cannot be read
RESHARD_DECL std::string read_bytes(open_file& file, std::uint64_t bytes, std::string const& path);

/// All of a file.
///
/// \throws error with errc::limit_exceeded for more than `limit` bytes; see also `open_to_read`
RESHARD_DECL std::string read_text_file(std::filesystem::path const& path,
                                        std::uint64_t limit = std::uint64_t{1} << 32);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/text_file.ipp>
#endif

#endif
