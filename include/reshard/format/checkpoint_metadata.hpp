// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_CHECKPOINT_METADATA_HPP
#define RESHARD_FORMAT_CHECKPOINT_METADATA_HPP

#include <reshard/core/config.hpp>
#include <reshard/layout/layout.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// \file
/// All that a checkpoint says of itself: which tensors, in which files, at which bytes.

namespace reshard {

namespace detail {

/// A file of a checkpoint.
struct checkpoint_file {
    std::filesystem::path path;
    std::uint64_t bytes = 0;
    std::uint64_t chunk_bytes = 0; ///< of the chunks that digests are of; 0: the file has none

    bool operator==(checkpoint_file const&) const = default;
};

/// A shard of a tensor in a file, stored row-major.
///
/// \par Units `begin` and `end` in bytes of the file; all else in elements
struct checkpoint_shard {
    holder_t file = 0;
    box region;
    std::optional<flat_range> flat; ///< counted in the row-major order of `region`
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::vector<std::uint64_t> digests{}; ///< of its chunks (see `digests_of`), if the file has any

    bool operator==(checkpoint_shard const&) const = default;
};

/// The shape in which a shard is stored: that of its region, or one axis for a flat range.
inline index_vector stored_shape(checkpoint_shard const& shard) {
    return shard.flat ? index_vector{shard.flat->size()} : shard.region.shape;
}

/// A tensor with all its shards, in the order of the files.
struct checkpoint_tensor {
    std::string key;
    data_type dtype{};
    index_vector shape; ///< global
    std::vector<checkpoint_shard> shards;

    bool operator==(checkpoint_tensor const&) const = default;
};

} // namespace detail

/// A checkpoint without its data.
///
/// \invariant `tensors` is sorted by key, each key once; each shard lies in its tensor and its file
struct checkpoint_metadata {
    std::string format; ///< `safetensors`, `huggingface` or `sharded_safetensors`
    std::filesystem::path path;
    std::vector<detail::checkpoint_file> files;
    std::vector<detail::checkpoint_tensor> tensors;
    std::string
        save{}; ///< the id of the save that the files belong to; empty where others wrote them
    std::map<std::string, std::string>
        metadata;                      ///< of the first file, without what describes shards
    std::vector<std::string> warnings; ///< each begins with its file
    /// Names of files beside these that hold more of the same checkpoint, and were not read: the
    /// optimizer state and master weights of a Unified Checkpoint.
    std::vector<std::string> unread{};
    /// Other names of tensors, with the keys that the files have: each is among `tensors` too, with
    /// the shards of its key. Of a checkpoint that is to be written, `tensors` does not have them.
    std::map<std::string, std::string> aliases{};

    bool operator==(checkpoint_metadata const&) const = default;
};

/// Who holds what, with the files as holders.
RESHARD_DECL layout layout_of(checkpoint_metadata const& checkpoint);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/checkpoint_metadata.ipp>
#endif

#endif
