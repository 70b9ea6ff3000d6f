// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "like.hpp"
#include "spec.hpp"

#include <reshard/core/error.hpp>
#include <reshard/format/json_document.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/os/file_bytes.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>

namespace tool {

using namespace reshard;

namespace {

namespace fs = std::filesystem;
using tensor_list = reshard::vector<aoa::known_tensor>;

aoa::known_tensor facts_of(std::string key, detail::json_cursor const& tensor) {
    std::optional<data_type> dtype;
    if (auto const code = tensor.find("dtype"); code && !code->is_null()) {
        dtype = detail::data_type_from_code(code->text());
        if (!dtype)
            code->refuse("'" + code->text() + "' is not a data type");
    }
    index_vector shape = tensor.at("shape").extents();
    auto const parts = index_vector::filled(shape.size(), 1);
    return {{std::move(key), dtype.value_or(data_type::f32), std::move(shape), parts},
            dtype.has_value(),
            false};
}

/// The tensors that a document lists, in its member `tensors` or, for a header, in the document
/// itself.
tensor_list tensors_of(std::string const& text, std::string const& file) {
    auto const document = detail::parse_json(text, file, errc::unsupported);
    detail::json_cursor const top(document, file, errc::unsupported);
    if (top.find("rules"))
        top.refuse("this layout has rules but no shapes; --like needs the shapes and data "
                   "types of tensors");
    tensor_list tensors;
    top.find("tensors").value_or(top).for_each_member(
        [&](std::string_view key, detail::json_cursor const& tensor) {
            if (key != "__metadata__")
                tensors.push_back(facts_of(std::string(key), tensor));
        });
    std::ranges::sort(tensors, {},
                      [](aoa::known_tensor const& tensor) { return tensor.entry.key; });
    return tensors;
}

/// The JSON in the header of a safetensors file. The file may end after its header.
std::string header_of(fs::path const& path) {
    detail::open_file file = detail::open_to_read(*detail::files_of_system(), path);
    std::string const start = detail::read_bytes(file, std::min<std::uint64_t>(file.bytes, 8));
    return detail::read_bytes(file, detail::safetensors_json_bytes(std::as_bytes(std::span(start)),
                                                                   file.bytes, path.string(), {}));
}

/// The safetensors files of a directory, or the file itself.
reshard::vector<fs::path> header_files(fs::path const& path) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored))
        return {path};
    reshard::vector<fs::path> files;
    for (fs::directory_entry const& entry : fs::directory_iterator(path, ignored))
        if (entry.path().extension() == ".safetensors")
            files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
}

/// The tensors that headers list, even if their data is missing; empty if the headers list shards.
tensor_list tensors_of_headers(fs::path const& path) {
    tensor_list tensors;
    for (fs::path const& file : header_files(path)) {
        std::string const header = header_of(file);
        if (header.find("DCP_SHARDING_INFO") != header.npos)
            return {};
        tensor_list more = tensors_of(header, file.string());
        tensors.insert(tensors.end(), more.begin(), more.end());
    }
    std::ranges::sort(tensors, {},
                      [](aoa::known_tensor const& tensor) { return tensor.entry.key; });
    return tensors;
}

} // namespace

tensor_list tensors_like(std::string const& path) {
    if (path.ends_with(".json"))
        return tensors_of(detail::read_text_file(path), path);
    try {
        tensor_list tensors;
        for (catalog_entry const& entry : catalog_of(read_source(path).held))
            tensors.push_back({entry, true, false});
        return tensors;
    } catch (error const& problem) {
        if (problem.code() != errc::corrupt_file)
            throw;
        if (tensor_list tensors = tensors_of_headers(path); !tensors.empty())
            return tensors;
        throw;
    }
}

} // namespace tool
