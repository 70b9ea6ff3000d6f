// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_FILE_SHARD_IPP
#define RESHARD_FORMAT_IMPL_FILE_SHARD_IPP

#include <reshard/format/file_shard.hpp>

#include <algorithm>
#include <limits>

namespace reshard::detail {

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

RESHARD_DECL index_t element_count_of(index_vector const& shape, std::string_view what) {
    try {
        return element_count(shape);
    } catch (error const& thrown) {
        fail(errc::corrupt_file, std::string(what) + thrown.what());
    }
}

RESHARD_DECL file_shard whole_file_shard(safetensors_entry const& entry, std::uint64_t data_offset,
                                         std::string_view file) {
    index_vector const shape = index_shape(entry, file);
    return {entry.name,
            entry.dtype,
            whole(shape),
            {},
            shape,
            data_offset + entry.begin,
            data_offset + entry.end};
}

} // namespace reshard::detail

#endif
