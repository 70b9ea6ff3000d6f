// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_TORCH_IMPL_DEEPSPEED_IPP
#define RESHARD_FORMAT_TORCH_IMPL_DEEPSPEED_IPP

#include <reshard/format/torch/deepspeed.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/pickle/named_values.hpp>
#include <reshard/format/pickle/pickle_writer.hpp>
#include <reshard/format/torch/torch_archive.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reshard::detail {

inline constexpr std::string_view deepspeed_directory = "zero", deepspeed_weight = "fp32.pt";

/// A value of a parameter, in a file of its own.
struct deepspeed_value {
    std::string key;
    std::filesystem::path path;
};

RESHARD_DECL bool is_deepspeed_universal(file_store const& files,
                                         std::filesystem::path const& directory) {
    std::filesystem::path const zero = directory / deepspeed_directory;
    if (files.find(zero) != file_store::kind::directory)
        return false;
    auto const all = files.list(zero);
    return std::any_of(all.begin(), all.end(), [&](std::filesystem::path const& parameter) {
        return files.find(parameter / deepspeed_weight) == file_store::kind::file;
    });
}

/// The files of the parameters, sorted.
inline std::vector<deepspeed_value> deepspeed_values(file_store const& files,
                                                     std::filesystem::path const& directory) {
    std::vector<deepspeed_value> all;
    for (std::filesystem::path const& parameter : files.list(directory / deepspeed_directory)) {
        if (files.find(parameter) != file_store::kind::directory)
            continue;
        std::string const key = parameter.filename().string();
        for (std::filesystem::path const& path : files.list(parameter))
            if (path.extension() == ".pt")
                all.push_back(
                    {path.filename() == deepspeed_weight ? key : key + "." + path.stem().string(),
                     path});
    }
    std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.key < b.key; });
    return all;
}

/// Warns of the files that are not read.
inline void warn_of_rest(checkpoint_metadata& opened, file_store const& files,
                         std::filesystem::path const& directory) {
    std::vector<std::string> rest;
    for (auto const& place : {directory, directory / deepspeed_directory})
        for (std::filesystem::path const& path : files.list(place))
            if (path.extension() == ".pt" && files.find(path) == file_store::kind::file)
                rest.push_back(path.filename().string());
    std::sort(rest.begin(), rest.end());
    if (!rest.empty())
        opened.warnings.push_back(
            directory.string() + ": not read: " + rest.front() +
            (rest.size() > 1 ? " and " + counted(rest.size() - 1, "more file") : "") +
            ", which hold the model in its own data type, and what is no parameter's");
}

/// The tensor of a file: the file itself, or `param` of its dict; nothing where it is another
/// value.
inline std::optional<file_tensor> tensor_of(torch_archive const& archive,
                                            file_store::file const& file,
                                            deepspeed_value const& value) {
    auto const all = named_values(archive.values(), file,
                                  [&](pickle_value one) { return archive.is_tensor(one); });
    for (named_value const& one : all)
        if ((one.key.empty() || one.key == "param") && archive.is_tensor(one.value))
            return archive.tensor(one.value, "tensor '" + value.key + "'");
    if (all.size() == 1 && all.front().key.empty())
        return std::nullopt;
    fail(errc::corrupt_file, value.path.string(), ": '", value.key,
         "' is neither a tensor, nor a dict with a tensor as 'param'");
}

inline torch_archive archive_in(file_store::file const& file, deepspeed_value const& value) {
    return {file, value.path.string(), {0, file.facts().bytes}};
}

inline std::vector<saved_object> objects_in(file_store const& files,
                                            std::vector<deepspeed_value> const& values,
                                            key_set const& keys) {
    std::vector<saved_object> all;
    for (deepspeed_value const& value : values) {
        if (!keys.contains(value.key))
            continue;
        auto const file = files.open(value.path);
        torch_archive const archive = archive_in(*file, value);
        all.push_back(object_of(archive, archive.values().root(), *file, value.key));
    }
    return all;
}

/// Adds what a file has: a tensor, or a value that is added to `objects` too.
inline void add_value(whole_tensors& all, torch_archive const& archive,
                      file_store::file const& file, deepspeed_value const& value,
                      std::vector<deepspeed_value>& objects) {
    bool is_tensor = true;
    auto const tensor = all.readable(value.key, "tensor '" + value.key + "'", [&] {
        auto found = tensor_of(archive, file, value);
        is_tensor = found.has_value();
        return found;
    });
    if (tensor)
        return all.add(value.key, *tensor);
    if (is_tensor)
        return;
    std::string reason = unknown_search(archive.values()).reason(archive.values().root());
    if (!reason.empty())
        return all.add_opaque(value.key, std::move(reason));
    all.add_object(value.key);
    objects.push_back(value);
}

RESHARD_DECL opened_checkpoint open_deepspeed_universal(std::shared_ptr<file_store const> files,
                                                        std::filesystem::path const& directory) {
    whole_tensors all(files, deepspeed_format, directory);
    std::vector<deepspeed_value> objects;
    for (deepspeed_value const& value : deepspeed_values(*files, directory)) {
        auto const file = files->open(value.path);
        torch_archive const archive = archive_in(*file, value);
        all.begin_file(value.path);
        add_value(all, archive, *file, value, objects);
    }
    opened_checkpoint opened = all.take();
    warn_of_rest(opened.metadata, *files, directory);
    opened.read_objects = [files = std::move(files), objects = std::move(objects)](
                              key_set const& keys) { return objects_in(*files, objects, keys); };
    return opened;
}

} // namespace reshard::detail

#endif
