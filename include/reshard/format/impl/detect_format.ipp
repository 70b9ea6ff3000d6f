// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_DETECT_FORMAT_IPP
#define RESHARD_FORMAT_IMPL_DETECT_FORMAT_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/dcp/dcp.hpp>
#include <reshard/format/gguf/gguf.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/impl/found_files.ipp>
#include <reshard/format/numpy/npy.hpp>
#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/format/paddle/paddle.hpp>
#include <reshard/format/paddle/unified.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/format/torch/torch_save.hpp>
#include <reshard/os/file_store.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// Opens a checkpoint of torch.distributed.checkpoint. If Megatron-Core did not finish a
/// checkpoint, its common file of all ranks is not read.
inline opened_checkpoint open_dcp_directory(std::shared_ptr<file_store const> files,
                                            std::filesystem::path const& metadata) {
    bool const is_unfinished =
        files->find(metadata.parent_path() / megatron_common_name) == file_store::kind::file;
    opened_checkpoint opened = open_dcp(std::move(files), metadata);
    if (is_unfinished) {
        opened.metadata.unread = {std::string(megatron_common_name)};
        opened.metadata.unread_reason =
            "is not read: this save of Megatron-Core is not finished, or lost metadata.json, "
            "which is written last; give another checkpoint, or move that file away";
    }
    return opened;
}

/// A format, the file that marks it, and the function that opens it.
struct checkpoint_format {
    std::string_view name; ///< the name in an opened checkpoint
    std::string_view file; ///< the ending of a file's name, or the name of a file in a directory
    /// Null for safetensors files and for an index.
    opened_checkpoint (*open)(std::shared_ptr<file_store const> files,
                              std::filesystem::path const& path);
};

inline constexpr checkpoint_format formats_of_files[] = {
    {"torch_save", ".pt", open_torch_file},
    {"torch_save", ".pth", open_torch_file},
    {"torch_save", ".bin", open_torch_file},
    {"torch_save", ".ckpt", open_torch_file},
    {"npy", ".npy", open_npy},
    {"npz", ".npz", open_npz},
    {"gguf", ".gguf", open_gguf},
    {"paddle_params", ".pdparams", open_paddle_file},
    {"paddle_params", ".pdopt", open_paddle_file},
};

/// The first entry whose file exists determines the format.
inline constexpr checkpoint_format formats_of_directories[] = {
    {"", save_record_name, nullptr}, // safetensors, as the next entries
    {"huggingface", hf_index_name, nullptr},
    {"huggingface", hf_single_name, nullptr},
    {unified_format, master_index_name, nullptr},
    {unified_format, master_single_name, nullptr},
    {unified_format, optimizer_index_name, nullptr},
    {unified_format, optimizer_single_name, nullptr},
    {"huggingface", adapter_name, nullptr},
    {"huggingface", diffusers_name, nullptr},
    {"huggingface", mistral_name, nullptr},
    {"huggingface", mlx_name, nullptr},
    {"megatron_torch_dist", megatron_metadata_name, open_torch_dist},
    {"torch_dcp", dcp_metadata_name, open_dcp_directory},
    {"torch_save", torch_index_name, nullptr},
    {"torch_save", torch_file_name, open_torch_file},
    {"torch_save", "adapter_model.bin", open_torch_file},
    {"torch_save", "diffusion_pytorch_model.bin", open_torch_file},
};

/// The formats of directories that have an index with any stem.
inline constexpr std::pair<std::string_view, std::string_view> formats_of_indexes[] = {
    {"huggingface", ".safetensors"},
    {"torch_save", ".bin"},
};

inline bool has_index(file_store const& files, std::filesystem::path const& directory) {
    return !indexes_in(files, directory, ".safetensors").empty() ||
           !indexes_in(files, directory, ".bin").empty();
}

inline constexpr std::string_view deepspeed_mark = "zero/PARAMETER/fp32.pt";

RESHARD_DECL vector<std::string> names_of_read_formats() {
    std::set<std::string> names{"safetensors", "sharded_safetensors", "paddle_flex",
                                std::string(deepspeed_format)};
    for (checkpoint_format const& format : formats_of_files)
        names.emplace(format.name);
    for (checkpoint_format const& format : formats_of_directories)
        names.emplace(format.name);
    names.erase("");
    return {names.begin(), names.end()};
}

/// True for a format of safetensors files.
inline bool is_safetensors(std::string_view format) { return format.ends_with("safetensors"); }

RESHARD_DECL bool may_hold_tensors(std::string_view name) {
    if (is_trainer_file(name))
        return false;
    if (!ending_in_index(name).empty())
        return true;
    constexpr std::string_view endings[] = {
        ".safetensors", ".index.json", ".bin", ".pt",  ".pth",  ".ckpt", ".pdparams",
        ".pdopt",       ".distcp",     ".npz", ".npy", ".gguf", ".h5",   ".onnx"};
    return name == save_record_name || name == megatron_metadata_name ||
           name.ends_with(dcp_metadata_name) || // and PaddlePaddle's, 0.metadata
           std::any_of(std::begin(endings), std::end(endings),
                       [&](std::string_view ending) { return name.ends_with(ending); });
}

/// The format that the names in a path suggest, and the evidence. Files are not read.
struct detected_format {
    std::string format;
    std::string mark; ///< the ending of the path's name, or the name of a file in a directory
    bool is_file = false;
};

/// The name of a file with that ending in a directory, or std::nullopt.
inline std::optional<std::string> name_with_ending(file_store const& files,
                                                   std::filesystem::path const& directory,
                                                   std::string_view ending) {
    for (std::filesystem::path const& path : files.list(directory))
        if (path.extension() == ending && files.find(path) == file_store::kind::file)
            return path.filename().string();
    return std::nullopt;
}

inline std::optional<detected_format>
detect_format_of_directory(file_store const& files, std::filesystem::path const& path) {
    auto const has = [&](std::string_view name) {
        return files.find(path / name) == file_store::kind::file;
    };
    for (checkpoint_format const& format : formats_of_directories)
        if (!format.name.empty() && has(format.file)) {
            bool const is_unified_one = !has(save_record_name) && is_unified(files, path);
            return detected_format{std::string(is_unified_one ? unified_format : format.name),
                                   std::string(format.file)};
        }
    if (is_deepspeed_universal(files, path))
        return detected_format{std::string(deepspeed_format), std::string(deepspeed_mark)};
    if (auto const metadata = find_paddle_metadata(files, path))
        return detected_format{"paddle_flex", metadata->filename().string()};
    for (auto const& [format, ending] : formats_of_indexes)
        if (auto const names = indexes_in(files, path, ending); !names.empty())
            return detected_format{std::string(format), names.front()};
    if (auto const ranks = find_torch_ranks(files, path); !ranks.empty())
        return detected_format{"torch_save", ranks.front().filename().string()};
    if (auto const name = name_with_ending(files, path, ".gguf"))
        return detected_format{"gguf", *name};
    if (auto const name = name_with_ending(files, path, ".safetensors"))
        return detected_format{"sharded_safetensors", *name};
    return std::nullopt;
}

inline std::optional<detected_format> detect_format(file_store const& files,
                                                    std::filesystem::path const& path) {
    auto const kind = files.find(path);
    if (kind == file_store::kind::directory)
        return detect_format_of_directory(files, path);
    if (kind == file_store::kind::nothing)
        return std::nullopt;
    if (path.extension() == ".safetensors")
        return detected_format{"safetensors", ".safetensors", true};
    for (checkpoint_format const& format : formats_of_files)
        if (path.extension() == format.file)
            return detected_format{std::string(format.name), std::string(format.file), true};
    return std::nullopt;
}

RESHARD_DECL bool is_checkpoint_directory(file_store const& files,
                                          std::filesystem::path const& directory) {
    bool const has_mark = std::ranges::any_of(formats_of_directories, [&](auto const& format) {
        bool const is_megatron = format.file == megatron_metadata_name; // not a unique name
        return files.find(directory / (is_megatron ? dcp_metadata_name : format.file)) !=
               file_store::kind::nothing;
    });
    return has_mark || (files.find(directory) == file_store::kind::directory &&
                        (is_deepspeed_universal(files, directory) ||
                         find_paddle_metadata(files, directory) || has_index(files, directory)));
}

/// Opens a directory by the file that marks its format; std::nullopt for a directory of safetensors
/// files.
inline std::optional<opened_checkpoint> open_as(checkpoint_format const& format,
                                                std::shared_ptr<file_store const> files,
                                                std::filesystem::path const& file, bool is_strict) {
    if (format.file == torch_index_name)
        return open_torch_index(std::move(files), file, is_strict);
    if (!format.open)
        return std::nullopt;
    opened_checkpoint opened = format.open(std::move(files), file);
    opened.metadata.path = file.parent_path();
    return opened;
}

/// True for a format whose single files may have any name.
inline bool is_format_of_files(std::string_view name) {
    return is_safetensors(name) ||
           std::ranges::find(formats_of_files, name, &checkpoint_format::name) !=
               std::end(formats_of_files);
}

/// The names of files that mark a directory of the format. One of these files is enough. Empty for
/// a format of single files.
inline vector<std::string> marks_of(std::string_view name) {
    if (name == deepspeed_format)
        return {std::string(deepspeed_mark)};
    if (name == "paddle_flex")
        return {"0.metadata"};
    if (name == "gguf" || name == "sharded_safetensors")
        return {name == "gguf" ? "*.gguf" : "*.safetensors"};
    vector<std::string> marks;
    for (checkpoint_format const& format : formats_of_directories)
        if (format.name == name)
            marks.emplace_back(format.file);
    return marks;
}

/// True if the names in a path allow that format.
inline bool has_marks(file_store const& files, std::filesystem::path const& path,
                      std::string_view name) {
    bool const is_file = files.find(path) == file_store::kind::file;
    for (auto const& [format, ending] : formats_of_indexes)
        if (name == format && (is_file ? ending_in_index(path.filename().string()) == ending
                                       : !indexes_in(files, path, ending).empty()))
            return true;
    if (is_file)
        return is_format_of_files(name);
    if (name == "torch_save" && !find_torch_ranks(files, path).empty())
        return true;
    if (name == deepspeed_format)
        return is_deepspeed_universal(files, path);
    if (name == "paddle_flex")
        return find_paddle_metadata(files, path).has_value();
    auto const has = [&](std::string_view mark) {
        return mark.starts_with('*') ? name_with_ending(files, path, mark.substr(1)).has_value()
                                     : files.find(path / mark) == file_store::kind::file;
    };
    // The files of a delta may be in other directories.
    return has(save_record_name) || std::ranges::any_of(marks_of(name), has);
}

/// Joins texts as `a, b or c`.
inline std::string either_of(vector<std::string> const& texts) {
    std::string text;
    for (std::size_t i = 0; i < texts.size(); ++i)
        text += (i == 0 ? "" : i + 1 < texts.size() ? ", " : " or ") + texts[i];
    return text;
}

/// The reason why a path does not have that format.
///
/// \pre `!has_marks(files, path, name)`
inline std::string missing_marks(file_store const& files, std::filesystem::path const& path,
                                 std::string_view name) {
    std::string const marks = either_of(marks_of(name));
    if (files.find(path) == file_store::kind::file)
        return "which is a directory with " + marks + ", but this is a file";
    return marks.empty() ? "which is a file, but this is a directory"
                         : "but this directory has no " + marks;
}

/// The path, as `./path` if it has no directory.
inline std::filesystem::path in_directory(std::filesystem::path const& path) {
    return path.has_parent_path() ? path : "." / path;
}

/// The index of `.bin` files: the path itself, or the only index in the directory. Without `from`,
/// std::nullopt if the directory also has an index of safetensors files.
inline std::optional<std::filesystem::path> find_torch_index(file_store const& files,
                                                             std::filesystem::path const& path,
                                                             std::string_view from) {
    if (!from.empty() && from != "torch_save")
        return std::nullopt;
    if (files.find(path) == file_store::kind::file)
        return ending_in_index(path.filename().string()) == ".bin"
                   ? std::optional(in_directory(path))
                   : std::nullopt;
    bool const is_directory = files.find(path) == file_store::kind::directory;
    if (!is_directory || (from.empty() && !indexes_in(files, path, ".safetensors").empty()))
        return std::nullopt;
    return only_index(files, path, ".bin");
}

/// Opens the checkpoint at `path`, if it does not consist of safetensors files.
inline std::optional<opened_checkpoint> open_other(std::shared_ptr<file_store const> files,
                                                   std::filesystem::path const& path,
                                                   safetensors_options const& options) {
    std::string_view const from = options.from;
    if (is_safetensors(from))
        return std::nullopt;
    bool const is_strict = options.mode == safetensors_mode::strict;
    auto const is_file = [&](std::filesystem::path const& current_path) {
        return files->find(current_path) == file_store::kind::file;
    };
    for (checkpoint_format const& format : formats_of_files)
        if ((from.empty() ? path.extension() == format.file : from == format.name) && is_file(path))
            return format.open(std::move(files), path);
    for (checkpoint_format const& format : formats_of_directories)
        if ((from.empty() || from == format.name) && is_file(path / format.file))
            return open_as(format, std::move(files), path / format.file, is_strict);
    if (auto const index = find_torch_index(*files, path, from))
        return open_torch_index(std::move(files), *index, is_strict);
    if (files->find(path) != file_store::kind::directory)
        return std::nullopt;
    if ((from.empty() || from == deepspeed_format) && is_deepspeed_universal(*files, path))
        return open_deepspeed_universal(std::move(files), path);
    if (auto const metadata = find_paddle_metadata(*files, path);
        metadata && (from.empty() || from == "paddle_flex"))
        return open_paddle_flex(std::move(files), *metadata);
    if (from.empty() || from == "torch_save")
        if (auto const ranks = find_torch_ranks(*files, path); !ranks.empty())
            return open_torch_ranks(std::move(files), path, ranks);
    if (!find_gguf_files(*files, path).empty())
        return open_gguf_directory(std::move(files), path);
    return std::nullopt;
}

} // namespace reshard::detail

#endif
