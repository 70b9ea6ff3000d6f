// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PADDLE_IMPL_UNIFIED_IPP
#define RESHARD_FORMAT_PADDLE_IMPL_UNIFIED_IPP

#include <reshard/format/paddle/unified.hpp>

#include <reshard/format/hf_index.hpp>

#include <algorithm>

namespace reshard::detail {

/// The names of a part's index and of its only file, in the order of search.
struct part_names {
    std::string_view index;
    std::string_view single;
};

inline part_names names_of(unified_part part) {
    if (part == unified_part::master_weights)
        return {master_index_name, master_single_name};
    if (part == unified_part::optimizer)
        return {optimizer_index_name, optimizer_single_name};
    return {hf_index_name, hf_single_name};
}

RESHARD_DECL std::optional<std::filesystem::path>
find_part(file_store const& files, std::filesystem::path const& directory, unified_part part) {
    part_names const names = names_of(part);
    for (std::string_view const name : {names.index, names.single})
        if (files.find(directory / name) == file_store::kind::file)
            return directory / name;
    return std::nullopt;
}

RESHARD_DECL bool is_unified(file_store const& files, std::filesystem::path const& directory) {
    return find_part(files, directory, unified_part::master_weights) ||
           find_part(files, directory, unified_part::optimizer);
}

RESHARD_DECL std::string key_in_part(unified_part part, std::string_view name) {
    std::string key(name);
    if (part == unified_part::master_weights)
        return key.append(master_key_suffix_of_paddle);
    if (auto const slash = key.rfind('/');
        part == unified_part::optimizer && slash != std::string::npos)
        key[slash] = '.';
    return key;
}

/// The sorted names of the files in a directory for which `wanted` is true.
vector<std::string> names_where(file_store const& files, std::filesystem::path const& directory,
                                auto const& wanted) {
    vector<std::string> names;
    for (std::filesystem::path const& path : files.list(directory))
        if (std::string const name = path.filename().string(); wanted(name))
            names.push_back(name);
    std::sort(names.begin(), names.end());
    return names;
}

RESHARD_DECL vector<std::string> unmerged_files(file_store const& files,
                                                std::filesystem::path const& directory,
                                                vector<std::string> const& read) {
    return names_where(files, directory, [&](std::string const& name) {
        bool const is_part = name.starts_with("optimizer") || name.starts_with("master_weights");
        return is_part && name.ends_with(".safetensors") &&
               std::find(read.begin(), read.end(), name) == read.end();
    });
}

RESHARD_DECL vector<std::string> older_files(file_store const& files,
                                             std::filesystem::path const& directory) {
    return names_where(files, directory, [](std::string const& name) {
        bool const is_of_torch = // excludes `pytorch_model_1.bin`, which is another model
            name.starts_with("pytorch_model.") || name.starts_with("pytorch_model-");
        bool const is_of_paddle = name.starts_with("model_state") ||
                                  name.starts_with("optimizer") ||
                                  name.starts_with("master_weights");
        return (is_of_torch && (name.ends_with(".bin") || name.ends_with(".bin.index.json"))) ||
               (is_of_paddle && (name.ends_with(".pdparams") || name.ends_with(".pdopt")));
    });
}

} // namespace reshard::detail

#endif
