// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_SHARDED_SAFETENSORS_HPP
#define RESHARD_FORMAT_SHARDED_SAFETENSORS_HPP

#include <reshard/core/flat_range.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/json_document.hpp>
#include <reshard/format/safetensors.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// safetensors files that hold shards of tensors: `__metadata__` has the position of each shard.

namespace reshard::detail {

/// A shard in a file.
///
/// \par Units `begin` and `end` in bytes of the file; all else in elements
struct file_shard {
    std::string key;
    data_type dtype{};
    packed_box region;
    std::optional<flat_range> flat;            ///< in the row-major order of `region`
    std::optional<packed_vector> global_shape; ///< if the file states it
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    axis_cycles cycles{}; ///< the axes along which the shard has only some blocks of `region`

    bool operator==(file_shard const&) const = default;
};

/// The metadata keys of the format: torch's key, and our key for facts that torch's key cannot
/// express.
///
/// \par Source `DCP_SHARDING_INFO` of PyTorch's HuggingFaceStorageWriter is JSON text `{key:
///             {"saved_offsets": [..]}}`, without global shapes. `RESHARD` is JSON text `{key:
///             {"shape": global shape}}`; a flattened shard adds `"region": {"offset": [..],
///             "shape": [..]}, "flat_range": [begin, end]`, and blocks that are stored side by side
///             add the region from the first block to the last and `"blocks": [[axis, block,
///             period], ..]`. Such blocks have no entry under torch's key, so readers that do not
///             know `RESHARD` refuse them
inline constexpr std::string_view sharding_info_name = "DCP_SHARDING_INFO";
inline constexpr std::string_view reshard_info_name = "RESHARD";

/// The shape as our index type. If an extent is 0, extents above 2^63 - 1 become 2^63 - 1.
///
/// \throws error with errc::limit_exceeded for more than `max_ndim` axes, naming file and tensor
inline index_vector index_shape(safetensors_entry const& entry, std::string_view file) {
    if (entry.shape.size() > max_ndim)
        fail(errc::limit_exceeded, file, ": ", quoted(entry), "shape ", to_string(entry.shape),
             " has ", entry.shape.size(), " axes; at most ", max_ndim, " are supported");
    constexpr std::uint64_t most = std::numeric_limits<index_t>::max();
    index_vector shape;
    for (std::uint64_t const extent : entry.shape)
        shape.push_back(static_cast<index_t>(std::min(extent, most)));
    return shape;
}

/// A whole tensor in its file.
///
/// \throws error with errc::limit_exceeded for more than `max_ndim` axes
inline file_shard whole_file_shard(safetensors_entry entry, std::uint64_t data_offset,
                                   std::string_view file) {
    index_vector const shape = index_shape(entry, file);
    return {std::move(entry.name),  entry.dtype, whole(shape), {}, shape, data_offset + entry.begin,
            data_offset + entry.end};
}

/// `shard-00001-model-00001-of-00001.safetensors` for the only file of rank 0.
inline std::string sharded_file_name(std::size_t rank, std::size_t number = 0,
                                     std::size_t count = 1) {
    return "shard-" + five_digits(rank + 1) + "-model-" + five_digits(number + 1) + "-of-" +
           five_digits(count) + ".safetensors";
}

/// `rank-00000.safetensors` for rank 0; `rank-00000-00001-of-00002.safetensors` for the first of
/// its two files.
inline std::string rank_file_name(std::size_t rank, std::size_t number = 0, std::size_t count = 1) {
    return "rank-" + five_digits(rank) +
           (count == 1 ? "" : "-" + five_digits(number + 1) + "-of-" + five_digits(count)) +
           ".safetensors";
}

/// True if the metadata of a file has the positions of its shards in torch's form.
inline bool is_sharded(safetensors_header const& header) {
    return header.metadata.contains(std::string(sharding_info_name));
}

inline flat_range flat_range_from(json_cursor const& cursor) {
    auto const ends = cursor.elements();
    if (ends.size() != 2)
        cursor.refuse(words("expected a flat range of 2 numbers, found ", ends.size()));
    return {ends[0].count(), ends[1].count()};
}

/// Reads the entry of a shard in `RESHARD`.
inline void read_own_info(json_cursor const& cursor, file_shard& shard) {
    if (auto const shape = cursor.find("shape"))
        shard.global_shape = shape->extents();
    if (auto const region = cursor.find("region"))
        shard.region = {region->at("offset").extents(), region->at("shape").extents()};
    if (auto const flat = cursor.find("flat_range"))
        shard.flat = flat_range_from(*flat);
    shard.cycles = cycles_from(cursor);
}

/// \param value returns the text that begins a message, here and below
inline void check_flat(file_shard const& shard, index_vector const& stored, auto&& value) {
    auto const wrong = [&](std::string const& text) {
        fail(errc::corrupt_file, value(), "flat range ", *shard.flat, text);
    };
    if (stored != index_vector{shard.flat->size()})
        wrong(" has " + counted(shard.flat->size(), "element") +
              ", but the tensor in the file has the shape " + to_string(stored));
    index_t const elements = element_count_of(shard.region.shape, value);
    if (shard.flat->end > elements)
        wrong(" exceeds its region of " + counted(elements, "element"));
}

inline void check_blocks(file_shard const& shard, index_vector const& stored, auto&& value) {
    std::string const blocks = "blocks along" + to_string(shard.cycles);
    if (shard.flat)
        fail(errc::corrupt_file, value(), "flat range ", *shard.flat, " and ", blocks,
             "; a shard has one or the other");
    box const region = shard.region;
    if (is_empty(region) || find_bad_cycle(region, shard.cycles))
        fail(errc::corrupt_file, value(), blocks, " do not fit a region of shape ", region.shape);
    if (index_vector const held = held_shape(region, shard.cycles); held != stored)
        fail(errc::corrupt_file, value(), blocks, " of a region of shape ", region.shape,
             " have the shape ", held, ", but the tensor in the file has the shape ", stored);
}

inline void check_region(file_shard const& shard, auto&& value) {
    std::size_t const ndim = shard.region.shape.size();
    if (shard.region.offset.size() != ndim)
        fail(errc::corrupt_file, value(), counted(shard.region.offset.size(), "offset"),
             ", but a shape of ", counted(ndim, "axis"));
    if (shard.global_shape && shard.global_shape->size() != ndim)
        fail(errc::corrupt_file, value(), "a global shape of ",
             counted(shard.global_shape->size(), "axis"), ", but a shard of ",
             counted(ndim, "axis"));
    for (std::size_t axis = 0; axis < ndim; ++axis) {
        index_t const offset = shard.region.offset[axis];
        index_t const room = (shard.global_shape ? (*shard.global_shape)[axis]
                                                 : std::numeric_limits<index_t>::max()) -
                             offset;
        if (room < shard.region.shape[axis])
            fail(errc::corrupt_file, value(), "axis ", axis, ": ",
                 counted(shard.region.shape[axis], "element"), " at offset ", offset,
                 " exceed the global extent ", offset + room);
    }
}

/// Refuses an entry of `DCP_SHARDING_INFO` or `RESHARD` for a tensor that the file does not have.
inline void check_known(json_cursor const& info, vector<safetensors_entry> const& tensors,
                        key_index const& numbers) {
    auto const name_at = [&](std::uint32_t i) -> std::string_view { return tensors[i].name; };
    info.for_each_member([&](std::string_view key, json_cursor const& cursor) {
        if (!numbers.find(key, name_at))
            cursor.refuse("the file has no such tensor");
    });
}

inline std::string info_text(safetensors_header const& header, std::string_view key) {
    auto const match = header.metadata.find(std::string(key));
    return match == header.metadata.end() ? "{}" : match->second;
}

/// The shards in a file with `DCP_SHARDING_INFO`, in the order of the data.
///
/// \pre    `is_sharded(header)`
/// \throws error with errc::corrupt_file if header and metadata contradict each other; it names
///         file, tensor, axis and both numbers
inline vector<file_shard> sharded_contents(safetensors_header const& header,
                                           std::string_view file) {
    BOOST_ASSERT(is_sharded(header));
    std::string const offsets_name = std::string(file) + ": " + std::string(sharding_info_name);
    std::string const own_name = std::string(file) + ": " + std::string(reshard_info_name);
    auto const offsets_document =
        parse_json(info_text(header, sharding_info_name), offsets_name, errc::corrupt_file);
    auto const own_document =
        parse_json(info_text(header, reshard_info_name), own_name, errc::corrupt_file);
    json_cursor const offsets(offsets_document, offsets_name, errc::corrupt_file);
    json_cursor const own(own_document, own_name, errc::corrupt_file);
    key_index numbers;
    for (std::uint32_t i = 0; i < header.tensors.size(); ++i)
        numbers.append(header.tensors[i].name, i);
    check_known(offsets, header.tensors, numbers);
    check_known(own, header.tensors, numbers);
    vector<file_shard> shards;
    shards.reserve(header.tensors.size());
    for (safetensors_entry const& entry : header.tensors) {
        auto const describe = [&] { return std::string(file) + ": " + quoted(entry); };
        file_shard shard = whole_file_shard(entry, header.data_offset, file);
        index_vector const stored = shard.region.shape;
        shard.global_shape.reset();
        auto const position = own.find(entry.name);
        bool const has_blocks = position && position->find("blocks");
        if (has_blocks)
            position->at("region");
        else
            shard.region.offset = offsets.at(entry.name).at("saved_offsets").extents();
        if (position)
            read_own_info(*position, shard);
        check_region(shard, describe);
        if (has_blocks)
            check_blocks(shard, stored, describe);
        else if (shard.flat)
            check_flat(shard, stored, describe);
        else if (shard.region.shape != stored)
            fail(errc::corrupt_file, describe(), "a region of shape ", shard.region.shape,
                 ", but the tensor in the file has the shape ", stored);
        shards.push_back(std::move(shard));
    }
    return shards;
}

/// The `__metadata__` of a file that holds these shards.
///
/// \pre each shard has a global shape
inline std::map<std::string, std::string> sharding_metadata(std::span<file_shard const> shards) {
    std::string offsets;
    std::string own;
    for (file_shard const& shard : shards) {
        BOOST_ASSERT(shard.global_shape);
        std::string const member = json_quoted(shard.key) + ":{";
        index_vector const saved =
            shard.flat ? index_vector{shard.flat->begin} : index_vector(shard.region.offset);
        if (shard.cycles.empty())
            offsets += (offsets.empty() ? "{" : ",") + member +
                       "\"saved_offsets\":" + json_list(saved) + "}";
        own += (own.empty() ? "{" : ",") + member + "\"shape\":" + json_list(*shard.global_shape);
        if (shard.flat || !shard.cycles.empty())
            own += ",\"region\":{\"offset\":" + json_list(shard.region.offset) +
                   ",\"shape\":" + json_list(shard.region.shape) + "}";
        if (shard.flat)
            own += ",\"flat_range\":" + json_list(index_vector{shard.flat->begin, shard.flat->end});
        own += blocks_text(shard.cycles) + "}";
    }
    return {{"format", "pt"},
            {"DCP_VERSION", "1.0"},
            {std::string(sharding_info_name), offsets.empty() ? "{}" : offsets + "}"},
            {std::string(reshard_info_name), own.empty() ? "{}" : own + "}"}};
}

} // namespace reshard::detail

#endif
