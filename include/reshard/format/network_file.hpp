// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NETWORK_FILE_HPP
#define RESHARD_FORMAT_NETWORK_FILE_HPP

#include <reshard/core/config.hpp>
#include <reshard/plan/network.hpp>

#include <filesystem>
#include <string>
#include <string_view>

/// \file
/// Networks as JSON files.

namespace reshard {

/// Reads the network that a file describes. Omitted fields have their defaults.
///
/// The file may have `measured`, the measurements of `reshard measure-network --json`; it is not
/// read.
///
/// \throws error with errc::missing_file, errc::corrupt_file if it is not a file, or errc::io; with
///         errc::syntax if it is not JSON: `file:line:column: ...`; with errc::bad_layout if it is
///         not a network; it names the file, the field, its number and the allowed range
RESHARD_DECL network read_network(std::filesystem::path const& path);

namespace detail {

/// The same for a text. \throws error as `read_network`
RESHARD_DECL network parse_network(std::string_view text, std::string_view file);

/// The text of a file, one line per field.
///
/// \post `parse_network` gives the same network, except for the last bit of a number, which the
///       parser of Boost.JSON may get wrong
RESHARD_DECL std::string to_json(network const& network);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/network_file.ipp>
#endif

#endif
