// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_FILE_SHARD_HPP
#define RESHARD_FORMAT_FILE_SHARD_HPP

#include <reshard/core/flat_range.hpp>
#include <reshard/format/safetensors_header.hpp>

/// \file
/// What one file of a checkpoint holds, in global coordinates.

namespace reshard {

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

namespace detail {

/// The shape as our own numbers. Beside a zero, extents beyond 2^63 - 1 count as that.
///
/// \throws error with errc::limit_exceeded for more axes than we have, naming file and tensor
inline index_vector index_shape(safetensors_entry const& entry, std::string_view file) {
    if (entry.shape.size() > max_ndim)
        fail(errc::limit_exceeded, std::string(file) + ": " + quoted(entry) + "shape " +
                                       to_string(entry.shape) + " has " +
                                       std::to_string(entry.shape.size()) + " axes; at most " +
                                       std::to_string(max_ndim) + " are possible");
    constexpr std::uint64_t most = std::numeric_limits<index_t>::max();
    index_vector shape;
    for (std::uint64_t const extent : entry.shape)
        shape.push_back(static_cast<index_t>(std::min(extent, most)));
    return shape;
}

/// The number of elements; an error names `what`.
inline index_t element_count_of(index_vector const& shape, std::string_view what) {
    try {
        return element_count(shape);
    } catch (error const& thrown) {
        fail(errc::corrupt_file, std::string(what) + thrown.what());
    }
}

} // namespace detail

/// A tensor that stands whole in its file.
///
/// \throws error with errc::limit_exceeded for more than `max_ndim` axes
inline file_shard whole_tensor(safetensors_entry const& entry, std::uint64_t data_offset,
                               std::string_view file) {
    index_vector const shape = detail::index_shape(entry, file);
    return {entry.name,
            entry.dtype,
            whole(shape),
            {},
            shape,
            data_offset + entry.begin,
            data_offset + entry.end};
}

} // namespace reshard

#endif
