// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_SHARDED_SAFETENSORS_HPP
#define RESHARD_FORMAT_SHARDED_SAFETENSORS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/flat_range.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/safetensors.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// safetensors files that hold shards of tensors: where each shard lies is in `__metadata__`.

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

/// The metadata keys of the format: torch's, and ours for what torch's cannot say.
///
/// \par Source `DCP_SHARDING_INFO` of PyTorch's HuggingFaceStorageWriter is JSON text
///             `{key: {"saved_offsets": [..]}}`, without global shapes. `RESHARD` is JSON text
///             `{key: {"shape": global shape}}`; a flattened shard adds
///             `"region": {"offset": [..], "shape": [..]}, "flat_range": [begin, end]`
inline constexpr std::string_view sharding_info_name = "DCP_SHARDING_INFO";
inline constexpr std::string_view reshard_info_name = "RESHARD";

/// `shard-00001-model-00001-of-00001.safetensors` for the first (0) of all three.
RESHARD_DECL std::string sharded_file_name(std::size_t rank, std::size_t number = 0,
                                           std::size_t count = 1);

/// True where the metadata of a file says which shards its tensors are, as torch writes it.
RESHARD_DECL bool is_sharded(safetensors_header const& header);

RESHARD_DECL void check_flat(file_shard const& shard, index_vector const& stored,
                             std::string_view what);

RESHARD_DECL void check_region(file_shard const& shard, std::string_view what);

/// What a file with `DCP_SHARDING_INFO` holds, in the order of its data.
///
/// \pre    `is_sharded(header)`
/// \throws error with errc::corrupt_file where header and metadata contradict one another; it names
///         file, tensor, axis and both numbers
RESHARD_DECL std::vector<file_shard> sharded_contents(safetensors_header const& header,
                                                      std::string_view file);

/// The `__metadata__` of a file that holds these shards.
///
/// \pre each shard has a global shape
RESHARD_DECL std::map<std::string, std::string>
sharding_metadata(std::span<file_shard const> shards);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/sharded_safetensors.ipp>
#endif

#endif
