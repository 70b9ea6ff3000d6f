// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_DCP_DCP_ITEMS_HPP
#define RESHARD_FORMAT_DCP_DCP_ITEMS_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/row_major_files.hpp>
#include <reshard/os/file_store.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// The items in a `.distcp` file, each a file of torch.save or in a safetensors file.

namespace reshard::detail {

/// The file that is written last, and says which items there are.
inline constexpr std::string_view dcp_metadata_name = ".metadata";

/// A file with items, by their numbers: what is asked of it when a shard is read.
struct dcp_file {
    std::string name;
    std::vector<byte_run> items;             ///< of the file
    std::map<std::size_t, std::string> keys; ///< of those that are in a safetensors file

    /// Where the elements of a shard are.
    ///
    /// \throws error with errc::corrupt_file where the item is not the shard that the metadata
    ///         describe
    RESHARD_DECL strided_bytes find(file_store::file const& opened, shown_shard const& expected,
                                    std::size_t number) const;

private:
    RESHARD_DECL file_tensor tensor(file_store::file const& opened, std::size_t number) const;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/dcp/impl/dcp_items.ipp>
#endif

#endif
