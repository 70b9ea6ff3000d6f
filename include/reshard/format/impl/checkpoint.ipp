// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_CHECKPOINT_IPP
#define RESHARD_FORMAT_IMPL_CHECKPOINT_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/dcp/dcp.hpp>
#include <reshard/format/delta_files.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/impl/checkpoint_reader.ipp>
#include <reshard/format/impl/detect_format.ipp>
#include <reshard/format/impl/directory_hint.ipp>
#include <reshard/format/impl/open_safetensors.ipp>
#include <reshard/format/impl/opening_warnings.ipp>
#include <reshard/format/impl/packed_tensors.ipp>
#include <reshard/format/impl/quantisation.ipp>
#include <reshard/format/impl/rank_files.ipp>
#include <reshard/format/paddle/unified.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/format/torch/torch_save.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace reshard {

namespace detail {

/// The kind of a path.
enum class checkpoint_kind {
    file,    ///< one safetensors file
    index,   ///< a directory with an index; the path is the index
    single,  ///< a directory with `model.safetensors`
    unified, ///< a Unified Checkpoint; the path is the directory
    sharded, ///< a directory with other safetensors files
};

/// A kind, and the files that are opened first.
struct checkpoint_files {
    checkpoint_kind kind{};
    vector<std::filesystem::path> paths; ///< one or several, sorted by name

    bool operator==(checkpoint_files const&) const = default;
};

/// Describes the files that were found instead of a checkpoint.
inline std::string found_instead(vector<std::filesystem::path> const& paths) {
    constexpr std::size_t most = 3;
    if (paths.empty())
        return "an empty directory";
    std::string text = "a directory with ";
    for (std::size_t i = 0; i < std::min(most, paths.size()); ++i)
        text += (i ? ", '" : "'") + paths[i].filename().string() + "'";
    return text +
           (paths.size() > most ? " and " + std::to_string(paths.size() - most) + " more" : "");
}

/// The names that `test` accepts, for a message; empty if there is none.
inline std::string names_among(vector<std::filesystem::path> const& paths, auto&& test) {
    vector<std::string> names;
    for (std::filesystem::path const& path : paths)
        if (std::string const name = path.filename().string(); test(name))
            names.push_back(name);
    return names.empty() ? "" : first_and_more("'" + names.front() + "'", names.size());
}

/// The name of the missing metadata file of a directory with shards of torch or of PaddlePaddle;
/// empty for any other directory.
///
/// \par Source file names of torch.distributed.checkpoint, `__RANK_NUMBER.distcp`, and of Flex
///             Checkpoint, `RANK_SAVE.distcp` with `SAVE.metadata`
inline std::string lost_metadata(vector<std::filesystem::path> const& paths) {
    constexpr std::string_view ending = ".distcp";
    auto const is_shard = [&](std::string_view name) { return name.ends_with(ending); };
    std::string const shards = names_among(paths, is_shard);
    if (shards.empty())
        return {};
    auto const has = [&](std::string_view name) {
        return !names_among(paths, [&](std::string_view text) { return text == name; }).empty();
    };
    std::string const ours = "of torch.distributed.checkpoint", theirs = "of PaddlePaddle";
    std::string writer = has(megatron_common_name) ? "of Megatron-Core" : ours;
    std::string lacking(dcp_metadata_name);
    for (std::filesystem::path const& path : paths) {
        std::string const name = path.filename().string();
        std::size_t const line = name.find('_');
        if (is_shard(name) && line != 0 && line != name.npos) {
            writer = theirs;
            lacking = name.substr(line + 1, name.size() - line - 1 - ending.size()) + ".metadata";
            break;
        }
    }
    return "this save " + writer + " is not finished, or lost " + lacking + ", which " +
           (writer == theirs ? "" : "is written last and ") + "lists the content of " + shards +
           "; give another checkpoint";
}

/// Describes the fault of a directory that has only some files of a checkpoint; empty for
/// any other directory.
inline std::string lost_part(file_store const& files, std::filesystem::path const& directory,
                             vector<std::filesystem::path> const& paths) {
    if (std::string text = lost_metadata(paths); !text.empty())
        return text;
    if (files.find(directory / "zero") == file_store::kind::directory)
        return "zero has no PARAMETER/fp32.pt, which a Universal Checkpoint of DeepSpeed has for "
               "each parameter: ds_to_universal.py did not finish; run it again";
    std::string const of_ranks = names_among(paths, [](std::string_view name) {
        return name.ends_with(".pt") &&
               (name.starts_with("mp_rank_") || name.starts_with("zero_pp_rank_"));
    });
    if (!of_ranks.empty())
        return "this is a per-rank checkpoint of DeepSpeed, with " + of_ranks +
               "; convert it to a Universal Checkpoint with ds_to_universal.py, or describe the "
               "shards in its files with --source-layout FILE";
    std::string stem;
    std::string const parts = names_among(paths, [&](std::string_view name) {
        std::string const part = name.ends_with(".bin") ? part_of_index(name) : "";
        stem = stem.empty() ? part : stem;
        return !part.empty() && part == stem;
    });
    return parts.empty() ? ""
                         : stem + ".bin.index.json is missing; it lists the tensors in " + parts;
}

/// Describes a directory that is not a checkpoint, and suggests another path.
inline std::string no_checkpoint(file_store const& files, std::filesystem::path const& directory,
                                 vector<std::filesystem::path> const& paths) {
    std::string const hint = directory_hint(files, directory, paths);
    return "this is " + found_instead(paths) + ", not a checkpoint" +
           (hint.empty() ? ": it has no files that can be read" : "; " + hint);
}

inline checkpoint_files find_in_directory(file_store const& files,
                                          std::filesystem::path const& directory,
                                          std::string_view from) {
    if (from != "huggingface" && is_unified(files, directory) &&
        !exists(files, directory / save_record_name))
        return {checkpoint_kind::unified, {directory}};
    for (auto const& [name, kind] : {std::pair{hf_index_name, checkpoint_kind::index},
                                     std::pair{hf_single_name, checkpoint_kind::single}})
        if (exists(files, directory / name))
            return {kind, {directory / name}};
    if (!exists(files, directory / save_record_name)) {
        if (auto const index = only_index(files, directory, ".safetensors"))
            return {checkpoint_kind::index, {*index}};
        for (std::string_view const name : {adapter_name, diffusers_name, mistral_name, mlx_name})
            if (exists(files, directory / name))
                return {checkpoint_kind::single, {directory / name}};
    }
    auto const list = files.list(directory);
    checkpoint_files checkpoint_files{checkpoint_kind::sharded, {}};
    for (std::filesystem::path const& path : list)
        if (path.extension() == ".safetensors" && files.find(path) == file_store::kind::file)
            checkpoint_files.paths.push_back(path);
    if (!checkpoint_files.paths.empty())
        return checkpoint_files;
    if (std::string const text = lost_part(files, directory, list); !text.empty())
        fail(errc::corrupt_file, directory.string(), ": ", text);
    fail(errc::unsupported, directory.string(), ": ", no_checkpoint(files, directory, list));
}

/// Refuses a file that describes other files beside it, and a file that another file describes.
inline void check_stands_alone(file_store const& files, std::filesystem::path const& path) {
    std::filesystem::path const around = in_directory(path).parent_path();
    auto const format = detect_format(files, around);
    if (format && (path.filename() == format->mark || path.extension() == ".distcp"))
        fail(errc::unsupported, path.string(), ": this file belongs to a checkpoint of the format ",
             format->format, "; give its directory, ", around.string());
}

/// The checkpoint at `path`.
///
/// \throws error with errc::missing_file if the path does not exist, with errc::unsupported if it
///         is not a checkpoint; it describes the path
inline checkpoint_files find_checkpoint(file_store const& files, std::filesystem::path const& path,
                                        std::string_view from) {
    if (!exists(files, path))
        fail(errc::missing_file, path.string(), ": no such file or directory");
    if (files.find(path) == file_store::kind::directory)
        return find_in_directory(files, path, from);
    if (ending_in_index(path.filename().string()) == ".safetensors" && !is_safetensors(from))
        return {checkpoint_kind::index, {in_directory(path)}};
    if (path.extension() != ".safetensors" && !is_safetensors(from)) {
        check_stands_alone(files, path);
        fail(errc::unsupported, path.string(),
             ": the format cannot be detected: the name of the file does not end in .safetensors "
             "(or .pt, .pth, .bin, .ckpt, .npy, .npz, .gguf, .pdparams, .pdopt); give the format "
             "with --from");
    }
    return {checkpoint_kind::file, {path}};
}

/// Refuses a path without the file that marks the requested format. The error names that file and
/// the existing files.
///
/// \throws error with errc::usage for an unknown format, else errc::unsupported
inline void check_asked(file_store const& files, std::filesystem::path const& path,
                        std::string const& format) {
    auto const match = names_of_read_formats();
    if (!std::ranges::binary_search(match, format))
        fail(errc::usage, "cannot read format '", format, "'; choose ", either_of(match));
    if (!exists(files, path) || has_marks(files, path, format))
        return;
    std::string const text = format + " was requested, " + missing_marks(files, path, format);
    if (auto const result = detect_format(files, path))
        fail(errc::unsupported, path.string(), ": ", text, "; it looks like ", result->format,
             ": it ", result->is_file ? "is named like one" : "has " + result->mark);
    if (files.find(path) == file_store::kind::file)
        fail(errc::unsupported, path.string(), ": ", text);
    auto const list = files.list(path);
    std::string const lost = lost_part(files, path, list);
    fail(errc::unsupported, path.string(), ": ", text, "; ",
         lost.empty() ? no_checkpoint(files, path, list) : lost);
}

/// Refuses incomplete tensors of ranks, and tensors whose copies differ between ranks.
inline void check_parts(opened_checkpoint const& opened) {
    checkpoint_metadata const& metadata = opened.metadata;
    for (auto const& [key, text] : opened.incomplete)
        if (std::ranges::binary_search(metadata.tensors, key, {}, &checkpoint_tensor::key))
            fail(errc::missing_file, metadata.path.string(), ": tensor '", key, "' ", text);
    if (metadata.format == "torch_save")
        for (checkpoint_tensor const& tensor : metadata.tensors)
            if (tensor.shards.size() > 1)
                check_replicas(
                    *opened.files, metadata, tensor,
                    "; the files of all ranks should have equal elements there: omit the tensor "
                    "(--without), or save it as a DTensor, which records how it is cut");
}

RESHARD_DECL opened_checkpoint open_unselected(std::shared_ptr<file_store const> files,
                                               std::filesystem::path const& path,
                                               safetensors_options const& options) {
    std::string const& from = options.from;
    if (!from.empty())
        check_asked(*files, path, from);
    auto opened = open_other(files, path, options);
    if (!opened) {
        files = store_of_checkpoint(std::move(files), path);
        checkpoint_metadata metadata = open_in(*files, path, options);
        opened = {std::move(metadata), std::move(files)};
    }
    if (!from.empty() && opened->metadata.format != from)
        fail(errc::unsupported, path.string(), ": has the format ", opened->metadata.format,
             ", not ", from);
    return std::move(*opened);
}

/// Opens the selected part of a checkpoint.
inline opened_checkpoint open_selected(std::shared_ptr<file_store const> files,
                                       std::filesystem::path const& path,
                                       safetensors_options const& options) {
    opened_checkpoint opened = open_unselected(std::move(files), path, options);
    if (options.dequantized)
        packed_model(opened).show_values();
    select_keys(opened, options);
    check_parts(opened);
    return opened;
}

RESHARD_DECL opened_checkpoint open_files(std::shared_ptr<file_store const> files,
                                          std::filesystem::path const& path,
                                          safetensors_options const& options) {
    opened_checkpoint opened = options.source_layout.empty()
                                   ? open_selected(std::move(files), path, options)
                                   : open_rank_files(std::move(files), path, options);
    add_warnings(opened);
    read_quantisation(*opened.files, opened.metadata);
    vector<decoded_entry>& decoded = opened.metadata.quantised.decoded;
    std::ranges::sort(decoded, {}, &decoded_entry::key);
    erase_if(decoded, [&](decoded_entry const& entry) { // not selected
        return !std::ranges::binary_search(opened.metadata.tensors, entry.key, {},
                                           &checkpoint_tensor::key);
    });
    return opened;
}

} // namespace detail

RESHARD_DECL checkpoint_metadata open_checkpoint(std::filesystem::path const& path,
                                                 detail::safetensors_options const& options) {
    return detail::open_files(detail::files_of_system(), path, options).metadata;
}

RESHARD_DECL checkpoint_metadata detail::open_in(file_store const& files,
                                                 std::filesystem::path const& path,
                                                 safetensors_options const& options) {
    detail::checkpoint_files const checkpoint_files =
        detail::find_checkpoint(files, path, options.from);
    bool const is_index = checkpoint_files.kind == detail::checkpoint_kind::index;
    detail::checkpoint_reader reader(
        files, is_index ? checkpoint_files.paths.front().parent_path() : path, options);
    if (checkpoint_files.kind != detail::checkpoint_kind::file &&
        checkpoint_files.kind != detail::checkpoint_kind::sharded)
        reader.read_model();
    switch (checkpoint_files.kind) {
    case detail::checkpoint_kind::file:
        return detail::open_single(reader, checkpoint_files.paths.front(), "safetensors");
    case detail::checkpoint_kind::index:
        return detail::open_index(reader, checkpoint_files.paths.front());
    case detail::checkpoint_kind::single:
        return detail::open_single(reader, checkpoint_files.paths.front(), "huggingface");
    case detail::checkpoint_kind::unified:
        return detail::open_unified(reader, checkpoint_files.paths.front());
    default: return detail::open_sharded(reader, checkpoint_files.paths);
    }
}

} // namespace reshard

#endif
