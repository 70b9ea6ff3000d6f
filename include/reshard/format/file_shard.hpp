// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_FILE_SHARD_HPP
#define RESHARD_FORMAT_FILE_SHARD_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/flat_range.hpp>
#include <reshard/format/safetensors_header.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// What one file of a checkpoint holds, in global coordinates.

namespace reshard::detail {

/// A shard in a file.
///
/// \par Units `begin` and `end` in bytes of the file; all else in elements
struct file_shard {
    std::string key;
    data_type dtype{};
    box region;
    std::optional<flat_range> flat;           ///< counted in the row-major order of `region`
    std::optional<index_vector> global_shape; ///< where the file says so
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    bool operator==(file_shard const&) const = default;
};

/// The number of elements; an error names `what`.
RESHARD_DECL index_t element_count_of(index_vector const& shape, std::string_view what);

/// A tensor that stands whole in its file.
///
/// \throws error with errc::limit_exceeded for more than `max_ndim` axes
RESHARD_DECL file_shard whole_file_shard(safetensors_entry const& entry, std::uint64_t data_offset,
                                         std::string_view file);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/file_shard.ipp>
#endif

#endif
