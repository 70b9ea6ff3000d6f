// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_FOUND_FILES_IPP
#define RESHARD_FORMAT_IMPL_FOUND_FILES_IPP

#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/impl/part_names.ipp>
#include <reshard/format/paddle/unified.hpp>
#include <reshard/format/torch/torch_save.hpp>
#include <reshard/os/file_store.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Files that describe a directory: indexes of any name, and files of ranks.

namespace reshard::detail {

/// The sorted names of a directory's indexes that list files with that ending, with any stem and
/// variant. Excludes the indexes of a Unified Checkpoint, which describe parts of one checkpoint.
inline vector<std::string> indexes_in(file_store const& files,
                                      std::filesystem::path const& directory,
                                      std::string_view ending) {
    vector<std::string> names;
    for (std::filesystem::path const& path : files.list(directory))
        if (std::string const name = path.filename().string();
            ending_in_index(name) == ending && name != master_index_name &&
            name != optimizer_index_name && files.find(path) == file_store::kind::file)
            names.push_back(name);
    std::sort(names.begin(), names.end());
    return names;
}

/// The only index that `indexes_in` returns, if it returns any.
///
/// \throws error with errc::unsupported if there are several; it names them
inline std::optional<std::filesystem::path> only_index(file_store const& files,
                                                       std::filesystem::path const& directory,
                                                       std::string_view ending) {
    auto const names = indexes_in(files, directory, ending);
    if (names.empty())
        return std::nullopt;
    if (names.size() == 1)
        return directory / names.front();
    std::string text;
    for (std::string const& name : names)
        text += (text.empty() ? "" : ", ") + name;
    fail(errc::unsupported, directory.string(), ": there are ", names.size(), " indexes, ", text,
         ", and each lists the files of a model; give one of them, such as ",
         (directory / names.front()).string());
}

/// True for files that trainers keep beside a checkpoint, for one rank or for each: their
/// arguments, and the states of the learning rate schedule, of the loss scale and of random number
/// generators. The names of files with tensors have the same endings.
///
/// \par Source the trainers of PaddleNLP and of Hugging Face
inline bool is_trainer_file(std::string_view name) {
    constexpr std::string_view known_names[] = {"training_args.bin", "scheduler.pdparams",
                                                "scaler.pdparams",   "scheduler.pt",
                                                "scaler.pt",         "rng_state.pth"};
    constexpr std::string_view of_ranks = "rng_state_";
    return std::ranges::find(known_names, name) != std::end(known_names) ||
           (name.starts_with(of_ranks) && name.ends_with(".pth"));
}

/// Whether the files have DTensors, judging by the first file that torch may have written.
inline bool have_parts(file_store const& files, vector<std::filesystem::path> const& paths) {
    for (std::filesystem::path const& path : paths)
        try {
            return has_torch_parts(files, path);
        } catch (error const&) {
            continue; // the error is reported when the file is opened
        }
    return false;
}

/// True for the ending of a file of torch.save.
inline bool is_of_torch(std::filesystem::path const& path) {
    constexpr std::string_view endings[] = {".pt", ".pth", ".bin", ".ckpt"};
    return std::ranges::find(endings, path.extension()) != std::end(endings);
}

/// The files of ranks in a directory that describe their shards, as DTensors of torch.save do. If
/// there are several sets of such files, the files of the model are preferred. Empty if there are
/// none.
inline vector<std::filesystem::path> find_torch_ranks(file_store const& files,
                                                      std::filesystem::path const& directory) {
    auto const list = files.list(directory);
    std::set<std::string> known_names;
    vector<std::filesystem::path> paths;
    for (std::filesystem::path const& path : list) {
        std::string const name = path.filename().string();
        bool const is_model = name.starts_with("model");
        auto const part =
            is_of_torch(path) && !is_trainer_file(name) ? part_of(path) : std::nullopt;
        if (!part || !part->is_of_ranks || (!paths.empty() && !is_model) ||
            !known_names.insert(part->pattern).second)
            continue;
        if (auto parts = parts_with(path, list); have_parts(files, parts))
            paths = std::move(parts);
        if (!paths.empty() && is_model)
            break;
    }
    return paths;
}

} // namespace reshard::detail

#endif
