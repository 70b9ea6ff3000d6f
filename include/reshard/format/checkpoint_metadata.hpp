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
    std::uint64_t chunk_bytes = 0; ///< of chunks that have digests; 0: there are none

    bool operator==(checkpoint_file const&) const = default;
};

/// A box that takes only the memory that its axes need, since a checkpoint may have millions. It
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

/// A shard of a tensor in a file, stored row-major. Blocks at equal distances are stored side by
/// side, as one array.
///
/// \par Units `begin` and `end` in bytes of the file; all else in elements
struct checkpoint_shard {
    holder_t file = 0;
    packed_box region;
    std::optional<flat_range> flat; ///< counted in the row-major order of `region`
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    digest_list digests{}; ///< of its chunks (see `digests_of`), if the file has any
    axis_cycles cycles{};  ///< the axes along which it is only blocks of `region`

    bool operator==(checkpoint_shard const&) const = default;
};

/// The shape in which a shard is stored: the shape of its region, or of its blocks side by side, or
/// one axis for a flat range.
///
/// \tparam Shard `checkpoint_shard` or `file_shard`
template <class Shard>
index_vector stored_shape(Shard const& shard) {
    return shard.flat ? index_vector{shard.flat->size()} : held_shape(shard.region, shard.cycles);
}

/// True if both are the same elements of a tensor, stored in the same order.
inline bool is_same_part(checkpoint_shard const& a, checkpoint_shard const& b) {
    return a.region == b.region && a.flat == b.flat && a.cycles == b.cycles;
}

/// Shards of one tensor. A single shard, which most tensors have, needs no allocation.
using checkpoint_shards = boost::container::small_vector<checkpoint_shard, 1>;

/// A tensor with all its shards, in the order of the files.
struct checkpoint_tensor {
    std::string key;
    data_type dtype{};
    packed_vector shape; ///< global
    checkpoint_shards shards;
    /// Why it cannot be read, such as a quantised type; empty if it can. An unreadable tensor has
    /// no shards. Its data type means nothing, and neither does a shape without axes.
    std::string unread{};

    bool is_read() const { return unread.empty(); }

    bool operator==(checkpoint_tensor const&) const = default;
};

/// A value of a checkpoint that is not a tensor, as the writer's language stores it: a learning
/// rate, for example, or the state of a random number generator.
struct checkpoint_object {
    std::string key;
    holder_t file = 0;
    byte_run bytes;             ///< of the file
    bool is_none = false;       ///< as far as it is known
    bool holds_tensors = false; ///< they have no keys, so they are not read
    bool is_common = false;     ///< is a part of the ranks' common state, which is one file
    std::string opaque{};       ///< why it is never read nor written; empty if it is

    bool operator==(checkpoint_object const&) const = default;
};

/// Such a value in the bytes that `torch.save` writes for it alone.
struct saved_object {
    std::string key; ///< may be empty
    std::string archive;
    bool is_common = false; ///< is a part of the ranks' common state, or all of it
    bool is_whole = false;  ///< is the ranks' whole common state, with None in place of tensors
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
    std::string save{}; ///< the id of the save that the files belong to; empty if others wrote them
    /// Texts of all files, except those that describe shards. If files disagree on a text, the
    /// first one counts.
    std::map<std::string, std::string> metadata;
    vector<std::string> warnings; ///< each begins with its file
    /// Other files that belong to the same checkpoint and were not read, such as the optimizer
    /// state and master weights of a Unified Checkpoint.
    vector<std::string> unread{};
    std::string unread_reason{}; ///< follows their names
    /// Other names of tensors, with the keys that the files have. Each is in `tensors` too, with
    /// the shards of its key. If the checkpoint is to be written, `tensors` does not have them.
    std::map<std::string, std::string> aliases{};
    /// How tensors were fused, as the save says.
    detail::fused_tensors fused{};
    /// From the configuration beside the files.
    detail::quantisation_facts quantised{};
    bool has_global_order = false; ///< as `layout::has_global_order`
    std::string version{};         ///< of the format, as the files say; empty if they do not
    holder_t writers{};            ///< ranks that wrote it, as far as files say; 0: unknown
    /// Files that list the contents of the others, in formats of other libraries: their names.
    vector<std::string> indexes{};
    /// Other values in the files, in the order of the metadata. They are not read.
    vector<detail::checkpoint_object> objects{};
    /// Tensors that were not selected, if there are such values.
    std::set<std::string, std::less<>> not_selected{};
    /// The rank whose shards each file has, if only the layout of the save can load it; empty: any
    /// layout can.
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

/// The layout with the files as holders.
RESHARD_DECL layout layout_of(checkpoint_metadata const& checkpoint);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/checkpoint_metadata.ipp>
#endif

#endif
