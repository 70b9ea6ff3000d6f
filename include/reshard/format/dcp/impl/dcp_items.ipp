// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_DCP_IMPL_DCP_ITEMS_IPP
#define RESHARD_FORMAT_DCP_IMPL_DCP_ITEMS_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/dcp/dcp.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/pickle/named_values.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/format/sharded_safetensors.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/format/torch/torch_archive.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// The recorded position of a shard.
struct dcp_item {
    std::uint32_t tensor = 0;
    std::uint32_t chunk = 0;
    byte_run bytes; ///< its range in the real file
};

/// The data type in the properties of a tensor. The state of the properties is a tuple that begins
/// with the data type, or a dict.
inline data_type dtype_in(pickle const& values, pickle_value properties, std::string const& noun) {
    pickle_value const state = values.object(properties, noun).state;
    bool const is_dict = state.type == pickle_value::kind::dict;
    auto const parts = is_dict ? std::span<pickle_value const>() : values.elements(state, noun);
    if (!is_dict && parts.empty())
        fail(errc::corrupt_file, values.file(), ": ", noun, ": it has no properties");
    pickle_value const type = is_dict ? values.at(state, "dtype", noun) : parts.front();
    std::string_view const name = values.global(type, noun + ": the data type");
    auto const dtype = name.starts_with("torch.") ? torch_data_type(name.substr(6)) : std::nullopt;
    if (!dtype)
        fail(errc::unsupported, values.file(), ": ", noun, ": elements of type ", name,
             " are not supported");
    return *dtype;
}

/// Refuses a shard that is not inside its tensor.
inline void check_in_tensor(packed_vector const& shape, packed_box const& region,
                            std::string const& noun) {
    if (region.offset.size() != shape.size() || region.shape.size() != shape.size())
        fail(errc::corrupt_file, noun, ": a shard has ", counted(region.shape.size(), "axis"),
             ", but its tensor has ", shape.size());
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        if (region.shape[axis] > shape[axis] ||
            region.offset[axis] > shape[axis] - region.shape[axis])
            fail(errc::corrupt_file, noun, ": axis ", axis, ": a shard of ", region.shape[axis],
                 " elements at offset ", region.offset[axis], " exceeds the extent ", shape[axis]);
}

/// The only tensor in an item that torch.save wrote.
inline file_tensor tensor_of_archive(file_store::file const& file, std::string const& name,
                                     byte_run where) {
    torch_archive const archive(file, name, where);
    std::string const noun = words("the item at byte ", where.begin);
    pickle_value const root = archive.values().root();
    if (!archive.is_tensor(root))
        archive.values().refuse(noun, root, "a tensor");
    return archive.tensor(root, noun);
}

/// The tensor with that key in the safetensors file that lies between `begin` and the end of
/// `file`.
inline file_tensor tensor_of_safetensors(file_store::file const& file, std::string const& name,
                                         std::uint64_t begin, std::string const& key) {
    std::string const noun = words(name, ": the tensors from byte ", begin, " onwards");
    byte_run const where{begin, file.facts().bytes};
    open_file part{std::make_unique<file_range>(file, where), where.size()};
    safetensors_header const header = read_safetensors_header(part, noun, {});
    for (safetensors_entry const& entry : header.tensors) {
        if (entry.name != key)
            continue;
        file_shard const shard = whole_file_shard(entry, header.data_offset, noun);
        index_vector const shape = shard.region.shape;
        return {shard.dtype, shape, {begin + shard.begin, row_major_strides(shape)}};
    }
    fail(errc::corrupt_file, noun, ": tensor '", key, "' is missing");
}

/// Opens an item that has a value. The item is a file of torch.save.
inline torch_archive archive_of(file_store::file const& file, checkpoint_file const& named,
                                checkpoint_object const& object) {
    return {file, named.path.string() + ": object '" + object.key + "'", object.bytes};
}

/// Why a value is neither read nor carried to other formats; empty if it is.
inline std::string why_opaque(file_store::file const& file, checkpoint_file const& named,
                              checkpoint_object const& object) {
    try {
        torch_archive const archive = archive_of(file, named, object);
        return opaque_search(archive.values()).reason(archive.values().root());
    } catch (error const& problem) {
        if (problem.code() == errc::unsupported || problem.code() == errc::limit_exceeded)
            return "cannot be read: " + text_behind(problem.what(), "object '" + object.key + "'");
        return {}; // reading the value reports the damage
    }
}

/// Records which values are not carried to other formats, and why.
inline void find_opaque(file_store const& files, checkpoint_metadata& metadata) {
    vector<checkpoint_object*> in_order; // each file is opened once
    for (checkpoint_object& object : metadata.objects)
        if (object.opaque.empty())
            in_order.push_back(&object);
    std::ranges::stable_sort(in_order, {}, &checkpoint_object::file);
    std::unique_ptr<file_store::file> file;
    for (std::size_t i = 0; i < in_order.size(); ++i) {
        checkpoint_object& object = *in_order[i];
        if (i == 0 || in_order[i - 1]->file != object.file)
            file = files.open(metadata.files[object.file].path);
        object.opaque = why_opaque(*file, metadata.files[object.file], object);
    }
}

/// The values beside tensors. Their items already are files of torch.save.
inline vector<saved_object> objects_of_items(file_store const& files,
                                             vector<checkpoint_file> const& names,
                                             vector<checkpoint_object> const& objects,
                                             key_set const& keys) {
    vector<saved_object> saved_objects;
    for (checkpoint_object const& object : objects) {
        if (!keys.contains(object.key))
            continue;
        auto const file = files.open(names[object.file].path);
        archive_of(*file, names[object.file], object); // refuses an item that is damaged
        std::string archive(object.bytes.size(), ' ');
        file->read(object.bytes.begin, std::as_writable_bytes(std::span(archive)));
        saved_objects.push_back({object.key, std::move(archive)});
    }
    return saved_objects;
}

RESHARD_DECL file_tensor dcp_file::tensor(file_store::file const& opened,
                                          std::size_t number) const {
    auto const key = keys.find(number);
    return key == keys.end()
               ? tensor_of_archive(opened, name, items[number])
               : tensor_of_safetensors(opened, name, items[number].begin, key->second);
}

RESHARD_DECL strided_bytes dcp_file::find(file_store::file const& opened,
                                          shown_shard const& expected, std::size_t number) const {
    file_tensor const there = tensor(opened, number);
    bool const is_flat = expected.shape.size() == 1 &&
                         is_row_major(there.shape, there.elements.strides) &&
                         element_count(there.shape) == expected.shape[0];
    if (is_flat && there.dtype == expected.dtype)
        return {there.elements.begin, {1}};
    if (there.dtype != expected.dtype || there.shape != index_vector(expected.shape))
        fail(errc::corrupt_file, name, ": the item at byte ", items[number].begin, " has ",
             there.dtype, " ", there.shape, ", but ", dcp_metadata_name, " says ", expected.dtype,
             " ", index_vector(expected.shape));
    return there.elements;
}

} // namespace reshard::detail

#endif
