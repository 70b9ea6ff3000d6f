// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_TORCH_IMPL_TORCH_TENSORS_IPP
#define RESHARD_FORMAT_TORCH_IMPL_TORCH_TENSORS_IPP

#include <reshard/core/error.hpp>
#include <reshard/format/pickle/pickle_writer.hpp>
#include <reshard/format/planned_files.hpp>
#include <reshard/format/torch/torch_archive.hpp>
#include <reshard/format/zip/stored_zip.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

RESHARD_DECL std::string torch_name(data_type dtype, std::string_view key) {
    switch (dtype) {
    case data_type::boolean: return "bool";
    case data_type::f8_e8m0: return "float8_e8m0fnu";
    case data_type::f4:
    case data_type::f6_e2m3:
    case data_type::f6_e3m2:
        fail(errc::unsupported, "'", key, "': torch has no data type for elements of ", dtype,
             dtype == data_type::f4 ? " alone, only for pairs of them (float4_e2m1fn_x2)" : "",
             "; write safetensors, or, if it has no scales, cast it in the program, as in `", key,
             " -> ", key, ", dtype=\"bfloat16\"`");
    default: return std::string(name(dtype));
    }
}

/// The class of storages for elements of a type; empty for newer types, which are stored as bytes.
inline std::string_view storage_class(data_type dtype) {
    for (auto const& [torch_storage, of] : torch_storages)
        if (of == dtype)
            return torch_storage;
    return {};
}

RESHARD_DECL std::uint64_t torch_alignment(std::uint64_t bytes) {
    return bytes < std::uint64_t{1} << 20 ? 64 : 4096;
}

RESHARD_DECL torch_tensor torch_tensor_of(file_shard const& shard) {
    return {shard.key, shard.dtype, shard.region.shape};
}

inline std::uint64_t bytes_of(torch_tensor const& tensor) {
    return static_cast<std::uint64_t>(byte_count(element_count(tensor.shape), tensor.dtype));
}

/// Writes the call that makes a tensor of storage `number`.
inline void put_tensor(pickle_writer& out, torch_tensor const& tensor, std::size_t number) {
    std::string_view const of_storage = storage_class(tensor.dtype);
    bool const is_untyped = of_storage.empty();
    out.global("torch._utils", is_untyped ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
    out.begin();
    out.begin();
    out.text("storage");
    if (is_untyped)
        out.global("torch.storage", "UntypedStorage");
    else
        out.global("torch", of_storage);
    out.text(std::to_string(number));
    out.text("cpu");
    out.integer(is_untyped ? static_cast<index_t>(bytes_of(tensor)) : element_count(tensor.shape));
    out.tuple();
    out.persistent_id();
    out.integer(0); // the first element in the storage
    out.integers(tensor.shape);
    out.integers(row_major_strides(tensor.shape));
    out.boolean(false); // does not need a gradient
    out.global("collections", "OrderedDict");
    out.empty_tuple();
    out.call();
    if (is_untyped)
        out.global("torch", torch_name(tensor.dtype, tensor.key));
    out.tuple();
    out.call();
}

/// An archive of a pickle and of the storages of tensors, in torch's order.
inline torch_file archive_of(std::string const& pickle, std::span<torch_tensor const> tensors,
                             std::uint64_t begin) {
    zip_plan archive(begin);
    torch_file file;
    archive.add("archive/data.pkl", pickle);
    archive.add("archive/byteorder", "little");
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        std::uint64_t const bytes = bytes_of(tensors[i]);
        file.elements.push_back(
            archive.add_room("archive/data/" + std::to_string(i), bytes, torch_alignment(bytes)));
    }
    archive.add("archive/version", "3\n");
    file.end = archive.finish();
    file.texts = archive.texts();
    return file;
}

RESHARD_DECL torch_file torch_file_of(torch_tensor const& tensor, std::uint64_t begin) {
    pickle_writer out;
    put_tensor(out, tensor, 0);
    return archive_of(out.take(), {&tensor, 1}, begin);
}

/// Writes the value of an archive.
inline void put_object(pickle_writer& out, saved_object const& object) {
    std::string const noun = "object '" + object.key + "'";
    archive_file const bytes(object.archive, noun);
    torch_archive const archive(bytes, noun, {0, object.archive.size()});
    copy_to(out, archive.values().root(), archive.values(), bytes, noun);
}

RESHARD_DECL torch_file torch_file_of(std::span<torch_tensor const> tensors,
                                      std::span<saved_object const> objects) {
    pickle_writer out;
    out.dict([&] {
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            out.text(tensors[i].key);
            put_tensor(out, tensors[i], i);
        }
        for (saved_object const& object : objects) {
            out.text(object.key);
            put_object(out, object);
        }
    });
    return archive_of(out.take(), tensors, 0);
}

RESHARD_DECL checkpoint_plan plan_torch_file(layout const& target, file_choices const& choices) {
    auto const shards = shards_of_one(target, choices);
    vector<torch_tensor> tensors;
    for (file_shard const& shard : shards)
        tensors.push_back(torch_tensor_of(shard));
    torch_file file = torch_file_of(tensors, objects_beside(target, choices));
    planned_files files("torch_save", target);
    files.begin_file("tensors.pt", 0);
    for (std::size_t i = 0; i < shards.size(); ++i)
        files.add(shards[i], file.elements[i]);
    files.end_file(file.end);
    checkpoint_plan plan = files.take(
        std::make_shared<known_texts>(vector<vector<placed_text>>{std::move(file.texts)}));
    plan.is_file = true;
    return plan;
}

RESHARD_DECL std::string torch_file_of(std::string const& pickle) {
    return archive_of(pickle, {}, 0).texts.front().text;
}

} // namespace reshard::detail

#endif
