// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_MAPPED_SAFETENSORS_IPP
#define RESHARD_FORMAT_IMPL_MAPPED_SAFETENSORS_IPP

#include <reshard/safetensors.hpp>

#include <reshard/core/error.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/os/atomic_replace.hpp>
#include <reshard/os/file_bytes.hpp>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

/// \file
/// The bodies of `<reshard/safetensors.hpp>`.

namespace reshard::detail {

/// A mapped file and its path, to which tensors refer.
struct mapped_file {
    explicit mapped_file(std::string const& name) : path(name), bytes(name) {}

    std::string path;
    mapped_input bytes;
};

/// The tensors and the metadata of a file; `name` lives as long as `bytes`.
inline safetensors::file listed(std::span<std::byte const> bytes, std::string_view name,
                                safetensors::open_options const& options) {
    safetensors_options chosen;
    chosen.mode = options.compatible ? safetensors_mode::compatible : safetensors_mode::strict;
    safetensors_header header = parse_safetensors_header(bytes, bytes.size(), name, chosen);
    safetensors::file file{
        std::string(name), {}, std::move(header.metadata), std::move(header.warnings), {}};
    file.tensors.reserve(header.tensors.size());
    auto const data = bytes.subspan(static_cast<std::size_t>(header.data_offset));
    for (safetensors_entry& entry : header.tensors)
        file.tensors.push_back({std::move(entry.name), entry.dtype,
                                vector<std::uint64_t>(entry.shape.begin(), entry.shape.end()),
                                data.subspan(static_cast<std::size_t>(entry.begin),
                                             static_cast<std::size_t>(entry.end - entry.begin)),
                                name});
    std::ranges::sort(file.tensors, {}, &safetensors::tensor::name);
    return file;
}

/// Takes the tensors that the index of `model` lists in a file. Warnings name the others.
inline void take_listed(safetensors::file& model, safetensors::file part, std::string_view name,
                        index_difference const& difference) {
    model.warnings.append(part.warnings.begin(), part.warnings.end());
    if (!difference.elsewhere.empty())
        model.warnings.push_back(elsewhere_text(difference, name));
    for (std::string const& key : difference.unlisted)
        model.warnings.push_back(
            words("'", key, "' is in ", name, ", but the index does not list it: it is left out"));
    for (safetensors::tensor& tensor : part.tensors)
        if (!difference.elsewhere.contains(tensor.name) &&
            !std::ranges::binary_search(difference.unlisted, tensor.name)) // sorted, as names are
            model.tensors.push_back(std::move(tensor));
}

/// Keeps the members of `metadata` that `other` has, too.
inline void intersect_metadata(std::map<std::string, std::string>& metadata,
                               std::map<std::string, std::string> const& other) {
    std::erase_if(metadata, [&](auto const& member) {
        auto const match = other.find(member.first);
        return match == other.end() || match->second != member.second;
    });
}

inline safetensors::file open_one(std::string const& path,
                                  safetensors::open_options const& options) {
    auto const memory = std::make_shared<mapped_file const>(path);
    safetensors::file file =
        listed({memory->bytes.data(), memory->bytes.bytes()}, memory->path, options);
    file.memory = memory;
    return file;
}

inline safetensors::file open_model(std::string const& path,
                                    safetensors::open_options const& options) {
    hf_index const index = parse_hf_index(read_text_file(path), path);
    check_lists_any(index, path);
    safetensors::file model{path, {}, {}, {}, {}};
    auto const memory = std::make_shared<vector<std::shared_ptr<void const>>>();
    for (auto const& [name, keys] : keys_by_file(index)) {
        auto const place = std::filesystem::path(path).parent_path() / name;
        safetensors::file part = open_one(place, options); // never another index
        index_keys names;
        for (safetensors::tensor const& tensor : part.tensors)
            names.push_back(tensor.name);
        if (memory->empty())
            model.metadata = part.metadata;
        intersect_metadata(model.metadata, part.metadata);
        memory->push_back(part.memory);
        auto const difference = compare_with_index(index, keys, std::move(names));
        check_difference(difference, path, name, !options.compatible);
        take_listed(model, std::move(part), name, difference);
    }
    std::ranges::sort(model.tensors, {}, &safetensors::tensor::name);
    model.memory = memory;
    return model;
}

/// The shape of a tensor to write.
inline index_vector shape_to_write(safetensors::tensor const& tensor, std::string const& path) {
    if (tensor.shape.size() > max_ndim)
        fail(errc::limit_exceeded, path, ": tensor '", tensor.name, "' has ", tensor.shape.size(),
             " axes; at most ", max_ndim, " are written");
    constexpr std::uint64_t most = std::numeric_limits<index_t>::max();
    for (std::uint64_t const extent : tensor.shape)
        if (extent > most)
            fail(errc::overflow, path, ": tensor '", tensor.name, "' has an extent of ", extent,
                 "; at most ", most, " are written");
    return index_vector(tensor.shape.begin(), tensor.shape.end());
}

inline safetensors_layout layout_to_write(std::string const& path,
                                          std::span<safetensors::tensor const> tensors,
                                          std::map<std::string, std::string> const& metadata) {
    vector<safetensors_tensor> planned;
    for (safetensors::tensor const& tensor : tensors)
        planned.push_back({tensor.name, tensor.dtype, shape_to_write(tensor, path)});
    safetensors_layout layout = plan_safetensors(planned, metadata, path);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        safetensors_entry const& entry = layout.tensors[i];
        std::size_t const bytes = tensors[layout.order[i]].bytes.size();
        if (bytes != entry.end - entry.begin)
            fail(errc::shape_mismatch, path, ": tensor '", entry.name, "': shape ",
                 to_string(entry.shape), " of ", code(entry.dtype), " needs ",
                 entry.end - entry.begin, " bytes, but `bytes` has ", bytes);
    }
    return layout;
}

} // namespace reshard::detail

namespace reshard::safetensors {

RESHARD_DECL void tensor::check_elements(data_type wanted, std::size_t alignment) const {
    auto const refuse = [&](errc code, auto const&... words) {
        fail(code, file, file.empty() ? "" : ": ", "tensor '", name, "': ", words...);
    };
    if (dtype != wanted)
        refuse(errc::dtype_mismatch, "its elements are ", dtype, ", not ", wanted,
               "; read them as ", dtype, ", or convert `bytes`");
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment != 0)
        refuse(errc::unsupported, "its address is not a multiple of ", alignment, ", which ", dtype,
               " needs; copy `bytes` to memory that is");
    auto const is_bool = [](std::byte byte) { return std::to_integer<int>(byte) <= 1; };
    auto const bad =
        dtype == data_type::boolean ? std::ranges::find_if_not(bytes, is_bool) : bytes.end();
    if (bad != bytes.end())
        refuse(errc::corrupt_file, "element ", bad - bytes.begin(), " is ",
               std::to_integer<int>(*bad), ", but a bool is 0 or 1; read `bytes`");
}

RESHARD_DECL tensor const* file::find(std::string_view name) const& {
    auto const match = std::ranges::lower_bound(tensors, name, {}, &tensor::name);
    return match != tensors.end() && match->name == name ? match : nullptr;
}

RESHARD_DECL tensor const& file::at(std::string_view name) const& {
    if (tensor const* const match = find(name))
        return *match;
    detail::nearest_text search(name, false);
    for (tensor const& tensor : tensors)
        search.look_at(tensor.name);
    fail(errc::unknown_key, path, ": there is no tensor '", name, "' among ",
         detail::counted(tensors.size(), "tensor"), search.question());
}

RESHARD_DECL file open(std::string const& path, open_options const& options) {
    std::string const name = std::filesystem::path(path).filename().string();
    if (detail::ending_in_index(name) == ".safetensors")
        return detail::open_model(path, options);
    return detail::open_one(path, options);
}

RESHARD_DECL file parse(std::span<std::byte const> bytes, std::string const& name,
                        open_options const& options) {
    auto const memory = std::make_shared<std::string const>(name);
    file result = detail::listed(bytes, *memory, options);
    result.memory = memory;
    return result;
}

RESHARD_DECL void write(std::string const& path, std::span<tensor const> tensors,
                        write_options const& options) {
    auto const layout = detail::layout_to_write(path, tensors, options.metadata);
    std::error_code unknown; // writing the file gives a better error
    if (!options.replace && std::filesystem::exists(path, unknown))
        fail(errc::already_exists, path,
             ": already exists; give another path, or allow it to be replaced");
    detail::complete_file complete(path, layout.file_bytes(), [&](detail::output_file& output) {
        output.write(0, std::as_bytes(std::span(layout.header)));
        for (std::size_t i = 0; i < layout.order.size(); ++i)
            output.write(layout.header.size() + layout.tensors[i].begin,
                         tensors[layout.order[i]].bytes);
    });
    complete.put(options.replace);
}

} // namespace reshard::safetensors

#endif
