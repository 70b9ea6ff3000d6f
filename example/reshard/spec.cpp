// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "spec.hpp"

#include <reshard/format/hf_index.hpp>
#include <reshard/format/written_formats.hpp>

#include <algorithm>
#include <map>
#include <string_view>

namespace tool {

using namespace reshard;

namespace {

bool is_layout(std::filesystem::path const& path) {
    std::error_code ec;
    return std::filesystem::is_regular_file(path, ec) && path.extension() == ".json" &&
           detail::ending_in_index(path.filename().string()).empty();
}

[[noreturn]] void fail_unnamed(std::filesystem::path const& path) {
    fail(errc::unsupported, path.string() + ": the name of this file has neither the ending of "
                                            "a checkpoint nor .json, the ending of a layout");
}

/// Whether a path is a file whose name is not a checkpoint's, such as a pipe.
bool is_unnamed(std::filesystem::path const& path) {
    constexpr std::string_view of_checkpoints[] = {".safetensors", ".json", ".gguf", ".pdparams",
                                                   ".pdopt"};
    std::error_code ec;
    return std::filesystem::exists(path, ec) && !std::filesystem::is_directory(path, ec) &&
           !detail::format_of_file(path.string()) &&
           !std::ranges::count(of_checkpoints, path.extension().string());
}

/// Opens a checkpoint. If a file is neither a checkpoint nor a layout, the error says so.
checkpoint_metadata read_checkpoint(std::filesystem::path const& path,
                                    detail::safetensors_options const& reading = {}) {
    try {
        return open_checkpoint(path, reading);
    } catch (error const& problem) {
        std::error_code ec;
        if (problem.code() != errc::unsupported || !std::filesystem::is_regular_file(path, ec) ||
            path.has_extension())
            throw;
        fail_unnamed(path);
    }
}

} // namespace

source_spec read_source(std::string const& path, detail::safetensors_options const& reading) {
    if (!is_layout(path)) {
        checkpoint_metadata metadata = read_checkpoint(path, reading);
        layout layout = layout_of(metadata);
        return {path, std::move(layout), std::move(metadata), reading};
    }
    if (!reading.from.empty() || !reading.only.empty() || !reading.without.empty() ||
        !reading.source_layout.empty())
        fail(errc::usage, path,
             ": --from, --only, --without and --source-layout are for checkpoints, but this is "
             "a layout");
    detail::layout_file const file = detail::read_layout_file(path);
    if (detail::needs_shapes(file))
        fail(errc::bad_layout, path + ": this layout has rules but no shapes, which a source "
                                      "needs; list its tensors in the explicit form");
    return {path, detail::source_layout(std::get<detail::layout_table>(file)), std::nullopt};
}

std::string schemes_of(checkpoint_metadata const& source) {
    std::map<std::string, std::size_t> numbers;
    for (detail::decoded_entry const& entry : source.quantised.decoded)
        ++numbers[entry.scheme];
    std::string text;
    for (auto const& [scheme, number] : numbers)
        text += (text.empty() ? "quantised tensors, read as their values in F32: " : ", ") +
                std::to_string(number) + " of " + scheme;
    return text;
}

reshard::vector<std::string> object_keys(checkpoint_metadata const& source) {
    reshard::vector<std::string> keys;
    for (detail::checkpoint_object const& object : source.objects)
        keys.push_back(object.key);
    return keys;
}

detail::layout_file read_target(std::string const& path, detail::safetensors_mode mode) {
    if (is_layout(path))
        return detail::read_layout_file(path);
    if (is_unnamed(path)) // --from applies to the source only
        fail_unnamed(path);
    detail::layout_table table = detail::table_of(layout_of(read_checkpoint(path, {.mode = mode})));
    table.file = path;
    return table;
}

} // namespace tool
