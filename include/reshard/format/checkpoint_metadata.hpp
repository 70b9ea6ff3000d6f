// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_CHECKPOINT_METADATA_HPP
#define RESHARD_FORMAT_CHECKPOINT_METADATA_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/os/file_store.hpp>

#include <boost/container/small_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

/// \file
/// The metadata of a checkpoint: which tensors it has, in which files, at which bytes.

namespace reshard {

namespace detail {

/// A file of a checkpoint.
struct checkpoint_file {
    std::filesystem::path path;
    std::uint64_t bytes = 0;
    std::uint64_t chunk_bytes = 0; ///< bytes per chunk that has a digest; 0: no digests

    bool operator==(checkpoint_file const&) const = default;
};

/// A box that stores only the axes that it has, because a checkpoint may have millions of boxes. It
/// converts to a `box` and back implicitly.
struct packed_box {
    packed_vector offset;
    packed_vector shape;

    packed_box() = default;
    packed_box(packed_vector first, packed_vector extents)
        : offset(std::move(first)), shape(std::move(extents)) {}
    packed_box(box const& region) : offset(region.offset), shape(region.shape) {}

    operator box() const { return {offset, shape}; }

    std::size_t ndim() const { return shape.size(); }

    /// \pre `axis < ndim()`
    index_t end(std::size_t axis) const { return offset[axis] + shape[axis]; }

    bool operator==(packed_box const&) const = default;
    bool operator==(box const& box) const { return offset == box.offset && shape == box.shape; }
};

/// A shard of a tensor in a file, stored row-major. A shard of blocks at equal distances is stored
/// as one array of these blocks, side by side.
///
/// \par Units `begin` and `end` in bytes of the file; all else in elements
struct checkpoint_shard {
    holder_t file = 0;
    packed_box region;
    std::optional<flat_range> flat; ///< in the row-major order of `region`
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    digest_list digests{}; ///< the digests of its chunks (see `digests_of`), if the file has any
    axis_cycles cycles{};  ///< the axes along which the shard has only some blocks of `region`

    bool operator==(checkpoint_shard const&) const = default;
};

/// The shape in which a shard is stored: the shape of its region, the shape of its blocks side by
/// side, or one axis with the length of its flat range.
///
/// \tparam Shard `checkpoint_shard` or `file_shard`
template <class Shard>
index_vector stored_shape(Shard const& shard) {
    return shard.flat ? index_vector{shard.flat->size()} : held_shape(shard.region, shard.cycles);
}

/// True if both shards have the same elements of a tensor, stored in the same order.
inline bool is_same_part(checkpoint_shard const& a, checkpoint_shard const& b) {
    return a.region == b.region && a.flat == b.flat && a.cycles == b.cycles;
}

/// The shards of one tensor. Most tensors have a single shard, which needs no allocation.
using checkpoint_shards = boost::container::small_vector<checkpoint_shard, 1>;

/// A tensor with all its shards, in the order of the files.
struct checkpoint_tensor {
    std::string key;
    data_type dtype{};
    packed_vector shape; ///< the global shape
    checkpoint_shards shards;
    /// Why the tensor cannot be read, such as a quantised type; empty if it can. An unreadable
    /// tensor has no shards, and its data type means nothing. Its shape is unknown if it has no
    /// axes.
    std::string unread{};

    bool is_read() const { return unread.empty(); }

    bool operator==(checkpoint_tensor const&) const = default;
};

/// A value of a checkpoint that is not a tensor, as the writer's language stores it: a learning
/// rate, for example, or the state of a random number generator.
struct checkpoint_object {
    std::string key;
    holder_t file = 0;
    byte_run bytes;             ///< the range in the file
    bool is_none = false;       ///< true if the value is known to be None
    bool holds_tensors = false; ///< its tensors have no keys and are not read
    bool is_common = false;     ///< part of the ranks' common state, which is one file
    std::string opaque{};       ///< why the value is neither read nor written; empty if it is

    bool operator==(checkpoint_object const&) const = default;
};

/// A value that is not a tensor, as `torch.save` writes it into a separate archive, or as a GGUF
/// file stores it in its header: its type, and its content.
struct saved_object {
    std::string key; ///< may be empty
    std::string archive;
    bool is_common = false; ///< part of the ranks' common state, or all of it
    bool is_whole = false;  ///< the whole common state of the ranks, with None in place of tensors
};

} // namespace detail

/// A checkpoint without its data.
///
/// \invariant `tensors` is sorted by key, each key once; each shard lies in its tensor and its file
struct checkpoint_metadata {
    std::string format; ///< `safetensors`, `huggingface`, `sharded_safetensors`, `torch_dcp`, ...
    std::filesystem::path path;
    vector<detail::checkpoint_file> files;
    vector<detail::checkpoint_tensor> tensors;
    std::string save{}; ///< the id of the save that wrote the files; empty if another program did
    /// Texts in the metadata of all files, except the texts that describe shards. If files disagree
    /// on a text, the first file's text is kept.
    std::map<std::string, std::string> metadata;
    vector<std::string> warnings; ///< each begins with its file
    /// Unread files that belong to the same checkpoint, such as the optimizer state and master
    /// weights of a Unified Checkpoint.
    vector<std::string> unread{};
    std::string unread_reason{}; ///< the text that follows their names in a message
    /// Other names of tensors, and the key of each in the files. `tensors` has these names too,
    /// with the shards of their keys, except in a checkpoint that is to be written.
    std::map<std::string, std::string> aliases{};
    /// How tensors were fused, as the save records it.
    detail::fused_tensors fused{};
    /// How tensors are quantised, from the configuration beside the files.
    detail::quantisation_facts quantised{};
    bool has_global_order = false; ///< as `layout::has_global_order`
    std::string version{}; ///< the version of the format; empty if the files do not state it
    holder_t writers{};    ///< the number of ranks that wrote the checkpoint; 0: unknown
    /// The names of files that list the contents of other files, in formats of other libraries.
    vector<std::string> indexes{};
    /// The values that are not tensors, in the order of the metadata. They are not read.
    vector<detail::checkpoint_object> objects{};
    /// The keys of tensors that were not selected. Only recorded if `objects` has values.
    std::set<std::string, std::less<>> not_selected{};
    /// The rank whose shards each file has, if the checkpoint loads only into the layout that saved
    /// it. Empty: it loads into any layout.
    vector<holder_t> this_layout_only{};
    std::set<std::string> metadata_differs{}; ///< names of texts that files disagree on

    bool operator==(checkpoint_metadata const&) const = default;
};

namespace detail {

/// The number of elements; an error begins with `value()`.
inline index_t element_count_of(index_vector const& shape, auto&& value) {
    try {
        return element_count(shape);
    } catch (error const& thrown) {
        fail(errc::corrupt_file, value(), thrown.what());
    }
}

/// The number of bytes; an error begins with `value()`.
inline std::uint64_t byte_count_of(index_vector const& shape, data_type dtype, auto&& value) {
    try {
        return static_cast<std::uint64_t>(byte_count(element_count(shape), dtype));
    } catch (error const& thrown) {
        fail(errc::corrupt_file, value(), thrown.what());
    }
}

RESHARD_DECL void sort_by_key(vector<checkpoint_tensor>& tensors);

} // namespace detail

/// The layout of a checkpoint, whose files are the holders.
RESHARD_DECL layout layout_of(checkpoint_metadata const& checkpoint);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/checkpoint_metadata.ipp>
#endif

#endif
