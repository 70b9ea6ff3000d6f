// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_ZIP_STORED_ZIP_HPP
#define RESHARD_FORMAT_ZIP_STORED_ZIP_HPP

#include <reshard/core/config.hpp>
#include <reshard/os/file_store.hpp>

#include <string>
#include <string_view>
#include <vector>

/// \file
/// Zip archives whose members are stored as they are, so that tensors are read where they lie.

namespace reshard::detail {

/// A member of an archive, and where its bytes are in the file.
struct zip_member {
    std::string name;
    byte_run bytes;

    bool operator==(zip_member const&) const = default;
};

/// The members of the archive that a range of a file is, in the order of its directory. Their
/// bytes are not read, and their checksums not compared.
///
/// \throws error with errc::unsupported for a member that is compressed or encrypted, and for an
///         archive in several files; errc::corrupt_file for what is no archive, and for a member
///         outside it, in its directory, or in another member; it names `name`, the member, and the
///         position in the file
/// \par Source APPNOTE.TXT 6.3.10 of PKWARE
RESHARD_DECL std::vector<zip_member> read_zip(file_store::file const& file, std::string_view name,
                                              byte_run where);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/zip/impl/stored_zip.ipp>
#endif

#endif
