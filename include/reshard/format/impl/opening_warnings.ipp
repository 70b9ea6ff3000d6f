// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_OPENING_WARNINGS_IPP
#define RESHARD_FORMAT_IMPL_OPENING_WARNINGS_IPP

#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/impl/directory_hint.ipp>
#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/format/paddle/unified.hpp>
#include <reshard/format/save_record.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Warnings about parts of an opened checkpoint, and about files beside it, that are not read.

namespace reshard::detail {

RESHARD_DECL std::set<std::string> names_in(checkpoint_metadata const& opened) {
    std::set<std::string> names{std::string(save_record_name), std::string(hf_index_name)};
    for (checkpoint_file const& file : opened.files)
        names.insert(file.path.filename().string());
    names.insert(opened.indexes.begin(), opened.indexes.end());
    return names;
}

/// Files beside another library's checkpoint that may hold other tensors: the state of an
/// optimizer, or another form of the same model.
inline vector<std::string> other_tensors(file_store const& files,
                                         checkpoint_metadata const& metadata) {
    if (!metadata.save.empty() || files.find(metadata.path) != file_store::kind::directory)
        return {};
    std::set<std::string> known_names = names_in(metadata);
    known_names.insert(metadata.unread.begin(), metadata.unread.end());
    auto const older = older_files(files, metadata.path);
    known_names.insert(older.begin(), older.end());
    vector<std::string> others;
    for (std::filesystem::path const& path : files.list(metadata.path))
        if (std::string const name = path.filename().string();
            !known_names.contains(name) && may_hold_tensors(name) && !name.ends_with(".json") &&
            files.find(path) == file_store::kind::file)
            others.push_back("'" + name + "'");
    return others;
}

/// A warning that some values have tensors without names; empty if no value has any.
inline std::string tensors_within(checkpoint_metadata const& metadata) {
    vector<std::string> keys;
    for (checkpoint_object const& object : metadata.objects)
        if (object.holds_tensors)
            keys.push_back("'" + object.key + "'");
    if (keys.empty())
        return {};
    return metadata.path.string() + ": " + first_and_more(keys.front(), keys.size()) +
           (keys.size() == 1 ? " is not a tensor but contains" : " are not tensors but contain") +
           " tensors, which are not read: they are neither converted nor compared";
}

/// A warning about tensors without elements: ZeRO stage 3 writes a parameter in this way if it was
/// not gathered. Empty if there are none. Only formats for state dicts of modules are checked. Our
/// saves, and formats that store global shapes, may have empty tensors.
///
/// \par Source DeepSpeed: a parameter that is partitioned has the shape [0]
inline std::string placeholders(checkpoint_metadata const& metadata) {
    constexpr std::string_view formats[] = {"torch_save", "safetensors", "huggingface",
                                            "sharded_safetensors", rank_files_format};
    if (!metadata.save.empty() || std::ranges::find(formats, metadata.format) == std::end(formats))
        return {};
    vector<checkpoint_tensor const*> empty;
    for (checkpoint_tensor const& tensor : metadata.tensors)
        if (index_vector const shape = tensor.shape; std::ranges::find(shape, 0) != shape.end())
            empty.push_back(&tensor);
    if (empty.empty())
        return {};
    return words(metadata.path.string(), ": ",
                 first_and_more("'" + empty.front()->key + "'", empty.size()),
                 empty.size() == 1 ? " has" : " have", " no elements (shape ",
                 index_vector(empty.front()->shape),
                 "): ZeRO stage 3 omits the elements of parameters that were not gathered; if "
                 "it did so here, save with stage3_gather_16bit_weights_on_model_save, or convert "
                 "the whole checkpoint with zero_to_fp32.py or ds_to_universal.py of DeepSpeed");
}

/// The first few keys, and the number of other keys.
inline std::string some_keys(vector<std::string> const& keys) {
    constexpr std::size_t most = 4;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, keys.size()); ++i)
        text += (i == 0 ? "'" : ", '") + keys[i] + "'";
    return keys.size() > most ? text + " and " + std::to_string(keys.size() - most) + " more"
                              : text;
}

/// Warns about entries that cannot be read, with one text for each reason.
inline void warn_of_entries(checkpoint_metadata& metadata) {
    std::map<std::string, vector<std::string>> tensors, values;
    for (checkpoint_tensor const& tensor : metadata.tensors)
        if (!tensor.is_read())
            tensors[tensor.unread].push_back(tensor.key);
    for (checkpoint_object const& object : metadata.objects)
        if (!object.opaque.empty())
            values[object.opaque].push_back(object.key);
    std::string const path = metadata.path.string() + ": ";
    for (auto const& [reason, keys] : tensors)
        metadata.warnings.push_back(path + some_keys(keys) +
                                    (keys.size() == 1 ? " is a tensor" : " are tensors") +
                                    " that cannot be read, and only commands that need " +
                                    (keys.size() == 1 ? "it" : "them") + " are refused: " + reason);
    for (auto const& [reason, keys] : values)
        metadata.warnings.push_back(
            path + some_keys(keys) +
            (keys.size() == 1 ? " is omitted: it " : " are omitted: each of them ") + reason);
}

/// Warns about data that is not read with the tensors, so that no data is lost silently.
inline void add_warnings(opened_checkpoint& opened) {
    checkpoint_metadata& metadata = opened.metadata;
    for (std::string text :
         {opened_part(*opened.files, metadata), tensors_within(metadata), placeholders(metadata)})
        if (!text.empty())
            metadata.warnings.push_back(std::move(text));
    if (auto const others = other_tensors(*opened.files, metadata); !others.empty())
        metadata.warnings.push_back(metadata.path.string() + ": " +
                                    first_and_more(others.front(), others.size()) +
                                    (others.size() == 1 ? " may have other tensors, but is"
                                                        : " may have other tensors, but are") +
                                    " not read: this checkpoint has the format " + metadata.format);
    if (!metadata.unread.empty())
        metadata.warnings.push_back(
            metadata.path.string() + ": " +
            first_and_more(metadata.unread.front(), metadata.unread.size()) + " " +
            metadata.unread_reason);
    warn_of_entries(metadata);
}

} // namespace reshard::detail

#endif
