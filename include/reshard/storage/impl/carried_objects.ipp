// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_CARRIED_OBJECTS_IPP
#define RESHARD_STORAGE_IMPL_CARRIED_OBJECTS_IPP

#include <reshard/core/vector.hpp>
#include <reshard/storage/convert.hpp>

#include <reshard/format/dcp/dcp.hpp>
#include <reshard/format/gguf/gguf.hpp>
#include <reshard/format/other_names.hpp>
#include <reshard/format/sharded_safetensors.hpp>
#include <reshard/format/torch/torch_save.hpp>
#include <reshard/format/written_formats.hpp>
#include <reshard/storage/aliases.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/impl/carried_names.ipp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

/// \file
/// Finds the values and texts that a conversion carries, and the values that would be lost.

namespace reshard::detail {

/// The keys of values that contain tensors, except values that a warning named when the checkpoint
/// was opened.
inline vector<std::string> objects_with_tensors(checkpoint const& source) {
    vector<std::string> keys;
    if (readable_keys(source.metadata()).empty() || !source.can_read_objects())
        return keys;
    try {
        for (saved_object const& object : source.read_objects())
            if (!object.is_common && has_tensors(object))
                keys.push_back(object.key);
    } catch (error const&) {
        return {}; // some values cannot be carried
    }
    return keys;
}

RESHARD_DECL std::string tensors_lost_with_objects(checkpoint const& source) {
    auto const keys = objects_with_tensors(source);
    if (keys.empty())
        return {};
    return source.metadata().path.string() + ": " +
           first_and_more("'" + keys.front() + "'", keys.size()) +
           (keys.size() == 1 ? " is not a tensor but contains tensors, which are lost with it"
                             : " are not tensors but contain tensors, which are lost with them") +
           " (--no-objects)";
}

/// True if the values of the source are Python's, which several formats can hold.
inline bool has_python_values(checkpoint const& source) {
    return source.can_read_objects() && source.metadata().format != "gguf";
}

/// The end of a message about values that are not tensors. It advises another format only if the
/// values can be read.
inline std::string advice_on_objects(checkpoint const& source) {
    auto const keys = objects_with_tensors(source);
    return "; omit values that are not tensors (--no-objects)" +
           (keys.empty() ? ""
                         : ", including the tensors in " +
                               first_and_more("'" + keys.front() + "'", keys.size())) +
           (!has_python_values(source) ? ""
            : keys.empty()             ? ", or write torch_dcp or torch_save"
                                       : ", or write torch_dcp");
}

/// The key of the first tensor among the common values of a Megatron-Core job. In a new
/// Megatron-Core checkpoint, this tensor would be stored elsewhere, and the common value would be
/// None.
inline std::string const* common_tensor(checkpoint_metadata const& source) {
    for (checkpoint_tensor const& tensor : source.tensors)
        for (checkpoint_shard const& shard : tensor.shards)
            if (source.files[shard.file].path.filename() == megatron_common_name)
                return &tensor.key;
    return nullptr;
}

RESHARD_DECL std::string lost_objects(checkpoint const& source, std::string const& format) {
    checkpoint_metadata const& opened = source.metadata();
    auto const keys = readable_keys(opened);
    if (keys.empty() || (opened.format == "gguf" && format == "gguf"))
        return {};
    if (format == "megatron_torch_dist" && opened.format == format)
        if (std::string const* const key = common_tensor(opened))
            return "tensor '" + *key + "' is in " + std::string(megatron_common_name) +
                   ", where tensors are not written" + advice_on_objects(source);
    bool const is_one = keys.size() == 1;
    std::string const which = first_and_more("'" + keys.front() + "'", keys.size()) +
                              (is_one ? " is not a tensor" : " are not tensors");
    if (!has_python_values(source))
        return which + ", and values of " + opened.format + " are not carried to other formats" +
               advice_on_objects(source);
    if (!format.empty() && written_format_of(format).has_objects)
        return {};
    if (format == "npz" || format == "npy") // these could store texts
        return which + ", and only tensors are written to " + format + advice_on_objects(source);
    return which + ", and " + (format.empty() ? "safetensors" : format) + " has no place for " +
           (is_one ? "it" : "them") + advice_on_objects(source);
}

/// Refuses a source if some of its data cannot be read, or if there is nothing to write.
inline void check_all_read(checkpoint_metadata const& source) {
    if (!source.unread.empty())
        fail(errc::unsupported, source.path.string(), ": ",
             first_and_more(source.unread.front(), source.unread.size()), " ",
             source.unread_reason);
    bool const has_some = !source.tensors.empty() || source.objects.empty() ||
                          !std::ranges::all_of(source.objects, [](auto const& element) {
                              return !element.opaque.empty();
                          });
    if (!has_some)
        fail(errc::unsupported, source.path.string(), ": '", source.objects.front().key, "' ",
             source.objects.front().opaque, "; the checkpoint contains nothing else to write");
}

/// Renames values as the program does.
///
/// \throws error with errc::unsupported for a value that the format cannot rename
inline vector<saved_object> renamed_objects(checkpoint const& source, vector<saved_object> objects,
                                            convert_options const& options) {
    for (saved_object& object : objects)
        if (auto const match = options.object_names.find(object.key);
            match != options.object_names.end()) {
            if (object.is_common && options.writing.format == "megatron_torch_dist")
                fail(errc::unsupported, source.metadata().path.string(), ": '", object.key,
                     "' is in ", megatron_common_name,
                     ", which is written unchanged, so it cannot be renamed for Megatron-Core");
            object.key = match->second;
        }
    return objects;
}

/// The values that are not tensors, under their new keys.
///
/// \throws error with errc::unsupported if the target cannot hold the values
inline vector<saved_object> objects_of(checkpoint const& source, mapping const& program,
                                       convert_options const& options) {
    if (!options.objects)
        return {};
    std::string const lost = lost_objects(source, options.writing.format);
    if (!lost.empty())
        fail(errc::unsupported, source.metadata().path.string(), ": ", lost);
    auto objects = source.read_objects();
    if (objects.empty()) // avoids a search of all keys of the program
        return objects;
    if (has_python_values(source))
        objects = carried_names(program, source.metadata().not_selected).rename(std::move(objects));
    return renamed_objects(source, std::move(objects), options);
}

/// The values of another GGUF file.
///
/// \throws error with errc::usage for a checkpoint of another format
inline vector<saved_object> header_of(std::filesystem::path const& path) {
    checkpoint const other = open_checkpoint(solo(), path);
    if (other.metadata().format != "gguf")
        fail(errc::usage, path.string(), ": is ", other.metadata().format,
             ", but the values of a header are taken from a GGUF file");
    return other.read_objects();
}

/// The values of the header of a new GGUF file if the source's values are not carried: those of
/// another file, or of the files beside the source.
///
/// \throws error as `header_of`
inline vector<saved_object> other_header(checkpoint const& source, mapping const& program,
                                         convert_options const& options,
                                         vector<std::string>& notes) {
    std::filesystem::path const& like = options.header_like;
    if (!like.empty()) {
        auto objects = header_of(like);
        notes.push_back(
            words("the header gets ", counted(objects.size(), "value"), " of ", like.string()));
        return objects;
    }
    if (source.metadata().format == "gguf" || !options.carry)
        return {};
    std::filesystem::path const& path = source.metadata().path;
    std::error_code ignored;
    gguf_metadata metadata =
        gguf_metadata_of(std::filesystem::is_directory(path, ignored) ? path : path.parent_path(),
                         [&](std::string const& key) { return program.find(key) != nullptr; });
    std::ranges::move(metadata.notes, std::back_inserter(notes));
    return std::move(metadata.values);
}

/// The values that are written beside the tensors.
///
/// \param notes gets the sentences about values that are missing
/// \throws error as `objects_of` and `header_of`; errc::usage for `options.header_like` if another
///         format is written
inline vector<saved_object> objects_for(checkpoint const& source, mapping const& program,
                                        convert_options const& options,
                                        vector<std::string>& notes) {
    bool const is_gguf = options.writing.format == "gguf";
    if (!is_gguf && !options.header_like.empty())
        fail(errc::usage, "values of the header of ", options.header_like.string(),
             " are only for a GGUF file, but another format is written; omit it, or write gguf");
    auto objects = objects_of(source, program, options);
    bool const is_other = is_gguf && (objects.empty() || !options.header_like.empty());
    return is_other ? other_header(source, program, options, notes) : objects;
}

/// The number of the source's values that are carried.
inline index_t count_carried(checkpoint const& source, convert_options const& options) {
    return options.objects && options.header_like.empty()
               ? std::ssize(readable_keys(source.metadata()))
               : 0;
}

RESHARD_DECL carried_texts texts_of(checkpoint_metadata const& source, mapping const& program,
                                    std::string const& format) {
    carried_texts carried_texts;
    for (auto const& [name, value] : source.metadata)
        if (!is_text_name(name))
            continue;
        else if (is_other_format(format))
            carried_texts.no_place.push_back(name);
        else if (source.metadata_differs.contains(name))
            carried_texts.differing.push_back(name);
        else if (name.starts_with(reshard_info_name) || program.find(name) ||
                 (may_be_alias(name, value) && program.find(value)))
            carried_texts.misread.push_back(name);
        else
            carried_texts.texts.emplace(name, value);
    return carried_texts;
}

/// The options for writing, with the texts of the source added. A text in `options.writing`
/// replaces the source's text of the same name.
inline write_options writing_of(checkpoint const& source, mapping const& program,
                                convert_options const& options) {
    write_options writing = options.writing;
    if (options.carry)
        writing.texts.merge(texts_of(source.metadata(), program, writing.format).texts);
    return writing;
}

/// Notes names that are written as tensors although only the source's metadata has them: such a
/// text may look like an alias by chance. Omits output layers, whose names do not occur by
/// chance.
inline void note_new_tensors(vector<std::string>& notes, checkpoint_metadata const& source,
                             mapping const& program, alias_map const& kept) {
    bool const is_safetensors =
        source.format == "huggingface" || source.format.ends_with("safetensors");
    bool const has_texts = is_safetensors && source.save.empty();
    for (auto const& [name, key] : source.aliases)
        if (has_texts && program.find(name) && !kept.contains(name) && !is_output_layer(name) &&
            !is_output_layer(key))
            notes.push_back("'" + name +
                            "' is written as a tensor, because the metadata of the source says "
                            "that it is another name of '" +
                            key + "'; if that is wrong, omit it (--without)");
}

} // namespace reshard::detail

#endif
