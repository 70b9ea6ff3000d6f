// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_DCP_IMPL_DCP_FILES_IPP
#define RESHARD_FORMAT_DCP_IMPL_DCP_FILES_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/dcp/dcp.hpp>

#include <reshard/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// The files with items, by their names in the metadata.
class dcp_files {
public:
    /// \param checkpoint_files gets each file once, when the file is first named
    dcp_files(file_store const& files, std::filesystem::path const& directory,
              vector<checkpoint_file>& checkpoint_files)
        : files_(files), directory_(directory), found_(checkpoint_files) {}

    /// \param  noun names in messages what the file should have, here and below
    /// \throws error with errc::corrupt_file for a name that cannot be a file in the directory,
    ///         errc::missing_file for a file that does not exist
    std::size_t number_of(std::string_view name, std::string const& noun) {
        auto const match = numbers_.find(name);
        if (match != numbers_.end())
            return match->second;
        std::string const metadata = (directory_ / dcp_metadata_name).string();
        if (!is_inside(name))
            fail(errc::corrupt_file, metadata, ": ", noun, ": '", name,
                 "' is not the name of a file in the directory");
        std::filesystem::path const path = directory_ / name;
        if (files_.find(path) != file_store::kind::file)
            fail(errc::missing_file, path.string(), ": no such file, but ", metadata,
                 " says that it contains ", noun);
        found_.push_back({path, files_.open(path)->facts().bytes, 0});
        return numbers_.emplace(name, found_.size() - 1).first->second;
    }

    /// \throws error with errc::corrupt_file for bytes beyond the end of the file
    void check_inside(std::size_t file, byte_run bytes, std::string const& noun) const {
        if (bytes.end > found_[file].bytes)
            fail(errc::corrupt_file, found_[file].path.string(), ": ", noun, " ends at byte ",
                 bytes.end, ", but the file has ", found_[file].bytes,
                 " bytes; was it cut short when it was copied?");
    }

private:
    static bool is_inside(std::string_view name) {
        std::filesystem::path const path(name);
        return !name.empty() && name.find('\0') == name.npos && path.is_relative() &&
               std::find(path.begin(), path.end(), "..") == path.end();
    }

    file_store const& files_;
    std::filesystem::path const& directory_;
    vector<checkpoint_file>& found_;
    std::map<std::string, std::size_t, std::less<>> numbers_;
};

/// Converts a flattened tensor of Megatron-Core before 0.14 to a tensor of that shape in flat
/// shards. The flattened tensor has another axis, for the elements of a block; its other axes count
/// blocks.
///
/// \param  noun names the file and the tensor in messages
/// \throws error with errc::corrupt_file if the blocks do not fit the shape
inline void make_flat(checkpoint_tensor& tensor, index_vector const& shape,
                      std::string const& noun) {
    index_vector const blocks = std::exchange(tensor.shape, packed_vector(shape));
    index_vector block = shape;
    bool fits = blocks.size() == shape.size() + 1;
    for (std::size_t axis = 0; axis < shape.size() && fits; ++axis) {
        fits = blocks[axis] > 0 && shape[axis] % blocks[axis] == 0;
        block[axis] = fits ? shape[axis] / blocks[axis] : 0;
    }
    if (!fits || element_count_of(block, [&] { return noun + ": "; }) != blocks[shape.size()])
        fail(errc::corrupt_file, noun, ": blocks ", blocks, " do not fit the shape ", shape);
    for (checkpoint_shard& shard : tensor.shards) {
        index_t const begin = shard.region.offset[shape.size()];
        shard.flat = flat_range{begin, begin + shard.region.shape[shape.size()]};
        index_vector offset = shape;
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            if (shard.region.shape[axis] != 1)
                fail(errc::corrupt_file, noun,
                     ": a shard has more than one block: ", shard.region.shape);
            offset[axis] = shard.region.offset[axis] * block[axis];
        }
        shard.region = {offset, block};
    }
}

} // namespace reshard::detail

#endif
