// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_OPEN_SAFETENSORS_IPP
#define RESHARD_FORMAT_IMPL_OPEN_SAFETENSORS_IPP

#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/impl/checkpoint_reader.ipp>
#include <reshard/format/impl/directory_hint.ipp>
#include <reshard/format/paddle/unified.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/format/sharded_safetensors.hpp>
#include <reshard/format/text_file.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

/// \file
/// Opens checkpoints of safetensors files, with an index or without one.

namespace reshard::detail {

/// Refuses an index that lists a missing file.
inline void check_present(file_store const& files, std::filesystem::path const& index,
                          std::string_view file, index_keys const& keys) {
    if (!exists(files, index.parent_path() / file))
        fail(errc::missing_file, index.string(), ": '", keys.front(), "'",
             keys.size() > 1 ? " and " + counted(keys.size() - 1, "more tensor") + " are listed in "
                             : " is listed in ",
             file, ", but that file is missing");
}

/// Compares the tensors of a file with the index.
///
/// \return the tensors that are read from other files, because the index decides in compatible
///         mode; a warning names them
/// \throws error as `check_difference`
inline key_set keys_elsewhere(checkpoint_reader& reader, std::filesystem::path const& index,
                              std::string_view file, index_difference difference) {
    check_difference(difference, index.string(), file, reader.is_strict());
    for (std::string const& name : difference.unlisted)
        reader.warn(index,
                    words("'", name, "' is in ", file, ", but the index does not list it there"));
    if (!difference.elsewhere.empty())
        reader.warn(index, elsewhere_text(difference, file));
    return std::move(difference.elsewhere);
}

inline index_keys keys_in(safetensors_header const& header) {
    index_keys names;
    names.reserve(header.tensors.size());
    for (safetensors_entry const& entry : header.tensors)
        names.push_back(entry.name);
    return names;
}

inline void check_total(checkpoint_reader& reader, std::filesystem::path const& path,
                        hf_index const& index, std::uint64_t there) {
    if (index.total_bytes && static_cast<std::uint64_t>(*index.total_bytes) != there)
        reader.warn(path, "total_size is " + std::to_string(*index.total_bytes) +
                              ", but the tensors have " + counted(there, "byte"));
}

/// Adds the tensors of the files that an index lists.
inline hf_index add_index(checkpoint_reader& reader, std::filesystem::path const& path,
                          unified_part part = unified_part::model) {
    hf_index index = parse_hf_index(read_text_file(reader.files(), path), path.string(),
                                    part == unified_part::optimizer);
    auto const files = keys_by_file(index);
    for (auto const& [file, keys] : files)
        check_present(reader.files(), path, file, keys);
    std::uint64_t bytes = 0;
    for (auto const& [file, keys] : files) {
        safetensors_header header = reader.open(path.parent_path() / file, part);
        key_set const elsewhere =
            keys_elsewhere(reader, path, file, compare_with_index(index, keys, keys_in(header)));
        for (safetensors_entry const& entry : header.tensors)
            bytes += elsewhere.contains(entry.name) ? 0 : entry.end - entry.begin;
        reader.add_whole(std::move(header), part, elsewhere);
    }
    check_total(reader, path, index, bytes);
    return index;
}

inline checkpoint_metadata open_index(checkpoint_reader& reader,
                                      std::filesystem::path const& path) {
    hf_index const index = add_index(reader, path);
    check_lists_any(index, path.string());
    if (std::string const text = unlisted_part(keys_by_file(index)); !text.empty())
        reader.warn(path, text);
    reader.check_directory(path.parent_path());
    reader.find_unread(path.parent_path());
    checkpoint_metadata opened = reader.take("huggingface");
    opened.indexes = {path.filename().string()};
    return opened;
}

/// Adds a part of a Unified Checkpoint, and returns whether its index lists master weights.
inline bool add_part(checkpoint_reader& reader, std::filesystem::path const& path,
                     unified_part part) {
    if (path.extension() == ".json")
        return add_index(reader, path, part).has_masters.value_or(false);
    reader.add_whole(reader.open(path, part), part);
    return false;
}

inline checkpoint_metadata open_unified(checkpoint_reader& reader,
                                        std::filesystem::path const& directory) {
    auto const find = [&](unified_part part) { return find_part(reader.files(), directory, part); };
    auto const model = find(unified_part::model);
    auto const masters = find(unified_part::master_weights);
    auto const optimizer = find(unified_part::optimizer);
    if (!model)
        check_no_model(reader.files(), directory);
    if (!masters)
        reader.keep_weights();
    if (model)
        add_part(reader, *model, unified_part::model);
    if (masters)
        add_part(reader, *masters, unified_part::master_weights);
    bool const says_masters = optimizer && add_part(reader, *optimizer, unified_part::optimizer);
    if (masters || says_masters)
        reader.share_masters(directory);
    reader.find_unread(directory);
    reader.find_older(directory);
    checkpoint_metadata opened = reader.take(unified_format);
    for (auto const& part : {model, masters, optimizer})
        if (part && part->extension() == ".json")
            opened.indexes.push_back(part->filename().string());
    return opened;
}

inline checkpoint_metadata open_single(checkpoint_reader& reader, std::filesystem::path const& path,
                                       std::string_view format) {
    safetensors_header header = reader.open(path);
    bool const has_parts = is_sharded(header);
    if (has_parts)
        reader.add_parts(header);
    else
        reader.add_whole(std::move(header));
    if (format == "huggingface") {
        reader.check_directory(path.parent_path());
        reader.find_unread(path.parent_path());
    }
    return reader.take(has_parts ? "sharded_safetensors" : format);
}

/// Refuses files if one of them does not describe its shards.
[[noreturn]] inline void refuse_unsharded(std::filesystem::path const& path,
                                          vector<std::filesystem::path> const& paths) {
    if (std::string const lost = lost_index(paths); !lost.empty())
        fail(errc::corrupt_file, path.parent_path().string(), ": ", lost);
    bool const is_part = !parts_with(path, paths).empty();
    fail(errc::corrupt_file, path.string(), ": the file has no ", sharding_info_name,
         ", so the positions of its tensors are unknown; there ",
         paths.size() == 1 ? "is " : "are ", counted(paths.size(), "safetensors file"), " and no ",
         hf_index_name, "; ",
         is_part
             ? "judging by their names, these are files of ranks, which do not describe their "
               "shards: describe the shards in a layout file, and pass it with --source-layout FILE"
         : paths.size() == 1 ? "give the file itself"
                             : "give one of them itself, if each is a separate model");
}

inline checkpoint_metadata open_sharded(checkpoint_reader& reader,
                                        vector<std::filesystem::path> const& paths) {
    file_counter counter;
    for (std::filesystem::path const& path : paths) {
        safetensors_header const header = reader.open(path);
        if (!is_sharded(header))
            refuse_unsharded(path, paths);
        counter.add(header.metadata, path.string());
        reader.add_parts(header);
    }
    reader.check_directory(paths.front().parent_path());
    counter.check_complete(paths.front().parent_path().string());
    return reader.take("sharded_safetensors");
}

} // namespace reshard::detail

#endif
