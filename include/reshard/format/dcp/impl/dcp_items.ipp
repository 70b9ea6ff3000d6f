// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_DCP_IMPL_DCP_ITEMS_IPP
#define RESHARD_FORMAT_DCP_IMPL_DCP_ITEMS_IPP

#include <reshard/format/dcp/dcp.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/format/sharded_safetensors.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/format/torch/torch_archive.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace reshard::detail {

/// The one tensor that an item has, as torch.save wrote it.
inline file_tensor tensor_of_archive(file_store::file const& file, std::string const& name,
                                     byte_run where) {
    torch_archive const archive(file, name, where);
    std::string const what = words("the item at byte ", where.begin);
    pickle_value const root = archive.values().root();
    if (!archive.is_tensor(root))
        archive.values().refuse(what, root, "a tensor");
    return archive.tensor(root, what);
}

/// The tensor of that key in the safetensors file that stands from `begin` to the end of a file.
inline file_tensor tensor_of_safetensors(file_store::file const& file, std::string const& name,
                                         std::uint64_t begin, std::string const& key) {
    std::string const what = words(name, ": the tensors from byte ", begin, " on");
    byte_run const where{begin, file.facts().bytes};
    open_file part{std::make_unique<file_range>(file, where), where.size()};
    safetensors_header const header = read_safetensors_header(part, what, {});
    for (safetensors_entry const& entry : header.tensors) {
        if (entry.name != key)
            continue;
        file_shard const shard = whole_file_shard(entry, header.data_offset, what);
        index_vector const shape = shard.region.shape;
        return {shard.dtype, shape, {begin + shard.begin, row_major_strides(shape)}};
    }
    fail(errc::corrupt_file, what, ": tensor '", key, "' should be there, but is not");
}

/// Values that are no tensors: items of these are files of torch.save already.
inline std::vector<saved_object> objects_of_items(file_store const& files,
                                                  std::vector<checkpoint_file> const& names,
                                                  std::vector<checkpoint_object> const& objects,
                                                  key_set const& keys) {
    std::vector<saved_object> all;
    for (checkpoint_object const& one : objects) {
        if (!keys.contains(one.key))
            continue;
        std::string archive(one.bytes.size(), ' ');
        files.open(names[one.file].path)
            ->read(one.bytes.begin, std::as_writable_bytes(std::span(archive)));
        all.push_back({one.key, std::move(archive)});
    }
    return all;
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
             there.dtype, " ", there.shape, ", and ", dcp_metadata_name, " says ", expected.dtype,
             " ", index_vector(expected.shape));
    return there.elements;
}

} // namespace reshard::detail

#endif
