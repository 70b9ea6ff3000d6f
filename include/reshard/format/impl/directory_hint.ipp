// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_DIRECTORY_HINT_IPP
#define RESHARD_FORMAT_IMPL_DIRECTORY_HINT_IPP

#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/impl/detect_format.ipp>
#include <reshard/format/impl/part_names.ipp>
#include <reshard/format/text_file.hpp>
#include <reshard/os/file_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace reshard::detail {

/// The number of entries of a directory that are examined for a hint.
inline constexpr std::size_t most_hint_entries = 64;

/// Describes a checkpoint of Megatron-LM with a directory for each rank; empty for any other form.
inline std::string hint_of_ranks(file_store const& files,
                                 vector<std::filesystem::path> const& paths) {
    constexpr std::string_view names[] = {"model_optim_rng.pt", "model_rng.pt"};
    std::string first;
    std::size_t count = 0;
    for (std::filesystem::path const& rank : paths)
        for (std::string_view const name : names)
            if (rank.filename().string().starts_with("mp_rank_") &&
                files.find(rank / name) == file_store::kind::file && count++ == 0)
                first = (rank / name).string();
    if (count == 0)
        return {};
    bool const is_whole = count == 1 && first.find("mp_rank_00") != first.npos;
    return "it is a per-rank checkpoint of Megatron-LM (--ckpt-format torch); convert it with "
           "Megatron-LM (--ckpt-convert-format torch_dist, --ckpt-convert-save), or " +
           (is_whole ? "give " + first + ", which is its only file"
                     : "describe the shards in the files of the ranks with --source-layout FILE");
}

/// Names the entries of a directory that belong together, such as files or directories of ranks,
/// and says how to read them.
///
/// \par Source nanotron writes `checkpoint_metadata.json` beside the directory `model`
inline std::string hint_of_parts(file_store const& files, std::filesystem::path const& directory,
                                 vector<std::filesystem::path> const& paths) {
    for (std::filesystem::path at = directory; !at.empty() && at != at.parent_path();
         at = at.parent_path())
        if (files.find(at / "checkpoint_metadata.json") == file_store::kind::file &&
            files.find(at / "model") == file_store::kind::directory)
            return "it is a checkpoint of nanotron, whose per-rank files " +
                   std::string(source_layout_advice);
    for (std::filesystem::path const& path : paths) {
        auto const parts = parts_with(path, paths);
        bool const is_directory = files.find(path) == file_store::kind::directory;
        if (parts.empty() || !(is_directory ? part_of(path)->is_certain
                                            : may_hold_tensors(path.filename().string())))
            continue;
        std::string const names =
            first_and_more("'" + path.filename().string() + "'", parts.size());
        bool const is_of_ranks = part_of(path)->is_of_ranks;
        return "judging by their names, " + names +
               (parts.size() == 1 ? " is one of the " : " are ") +
               (is_of_ranks ? (is_directory ? "directories of ranks, whose files "
                                            : "files of ranks, which ") +
                                  std::string(source_layout_advice)
                            : "parts of one model, but no index lists them; give the directory "
                              "with its index, or merge them with the program that wrote them");
    }
    return {};
}

/// An array library whose files are not read. `mark` is the name of a file that identifies it, and
/// `noun` describes it in messages.
///
/// \par Source the file names of orbax.checkpoint, TensorStore and zarr (versions 2 and 3)
struct array_library {
    std::string_view mark;
    std::string_view noun;
};

inline constexpr array_library array_libraries[] = {
    {"_CHECKPOINT_METADATA", "a checkpoint of Orbax"},
    {"_METADATA", "a checkpoint of Orbax"},
    {"array_metadatas", "a checkpoint of Orbax"},
    {"manifest.ocdbt", "an OCDBT database of TensorStore, as written by Orbax,"},
    {".zarray", "a zarr array"},
    {".zgroup", "a zarr group"},
    {".zmetadata", "a zarr group"},
    {"zarr.json", "a zarr array or group"},
};

/// Says that such a library wrote the directory, or a directory in it, and what to do. Empty for
/// any other directory.
inline std::string hint_of_arrays(file_store const& files, std::filesystem::path const& directory,
                                  vector<std::filesystem::path> const& paths) {
    vector<std::filesystem::path> places{directory};
    places.insert(places.end(), paths.begin(),
                  paths.begin() +
                      static_cast<std::ptrdiff_t>(std::min(paths.size(), most_hint_entries)));
    for (std::filesystem::path const& path : places)
        for (auto const& [mark, array_library] : array_libraries)
            if (files.find(path / mark) != file_store::kind::nothing)
                return (path == directory ? "it" : path.string()) + " is " +
                       std::string(array_library) +
                       (array_library.ends_with(',') ? " which" : ", which") +
                       " is not supported; restore it in Python with the library that wrote it, "
                       "and save its arrays as safetensors or .npz";
    return {};
}

/// The text of a short file without surrounding blanks; empty if the text cannot be the name of an
/// entry of a directory.
inline std::string name_in_file(file_store const& files, std::filesystem::path const& path) {
    constexpr std::uint64_t longest = 256;
    open_file file = open_to_read(files, path);
    if (file.bytes > longest)
        return {};
    std::string text = read_bytes(file, file.bytes);
    constexpr std::string_view blanks = " \t\r\n";
    text.erase(0, std::min(text.find_first_not_of(blanks), text.size()));
    text.erase(text.find_last_not_of(blanks) + 1);
    bool const is_plain = std::all_of(text.begin(), text.end(),
                                      [](char c) { return c > ' ' && c <= '~' && c != '/'; });
    return is_plain && text != "." && text != ".." ? text : std::string();
}

/// The directory of the iteration that Megatron-LM recorded as the last one.
inline std::string directory_of_iteration(std::string const& noted) {
    constexpr std::size_t digits = 7;
    bool const is_number = !noted.empty() && std::all_of(noted.begin(), noted.end(), [](char c) {
        return c >= '0' && c <= '9';
    });
    if (!is_number)
        return noted; // such as "release"
    return "iter_" + std::string(digits - std::min(digits, noted.size()), '0') + noted;
}

/// The directory of the last save, which a file beside it names.
inline std::string hint_of_latest(file_store const& files, std::filesystem::path const& directory) {
    constexpr std::string_view of_megatron = "latest_checkpointed_iteration.txt";
    std::string lost;
    for (std::string_view const name : {of_megatron, {"latest_universal"}, {"latest"}}) {
        if (files.find(directory / name) != file_store::kind::file)
            continue;
        std::string const noted = name_in_file(files, directory / name);
        if (noted.empty())
            continue;
        std::string const named = name == of_megatron ? directory_of_iteration(noted) : noted;
        if (files.find(directory / named) == file_store::kind::directory)
            return "give " + (directory / named).string() + ", which " + std::string(name) +
                   " names";
        if (lost.empty())
            lost = std::string(name) + " names " + named + ", which is missing";
    }
    return lost;
}

/// The name of a file with its numbers padded to `digits` digits, so that names are sorted by
/// number. If `digits` is 0, without its numbers.
inline std::string name_by_number(std::filesystem::path const& path, std::size_t digits) {
    std::string text, number;
    auto const add_number = [&] {
        number.erase(0, number.find_first_not_of('0'));
        if (digits > 0)
            text += std::string(digits - std::min(digits, number.size()), '0') + number;
        number.clear();
    };
    for (char const c : path.filename().string()) {
        bool const is_digit = c >= '0' && c <= '9';
        if (!is_digit && !number.empty())
            add_number();
        (is_digit ? number : text) += c;
    }
    if (!number.empty())
        add_number();
    return text;
}

/// Whether a directory seems to be a later step than another directory of the same training.
inline bool is_later_step(std::filesystem::path const& a, std::filesystem::path const& b) {
    constexpr std::size_t most_digits = 20;
    return name_by_number(a, 0) == name_by_number(b, 0) &&
           name_by_number(a, most_digits) > name_by_number(b, most_digits);
}

/// The entries of a directory that seem to be checkpoints: directories, or files if no directory
/// does. Only the latest of several steps is named.
inline std::string hint_of_entries(file_store const& files,
                                   vector<std::filesystem::path> const& paths) {
    for (auto const kind : {file_store::kind::directory, file_store::kind::file}) {
        bool const is_file = kind == file_store::kind::file;
        std::filesystem::path named;
        std::string format;
        std::size_t count = 0;
        for (std::size_t i = 0; i < std::min(paths.size(), most_hint_entries); ++i) {
            if (files.find(paths[i]) != kind ||
                (is_file && !may_hold_tensors(paths[i].filename().string())))
                continue;
            auto const result = detect_format(files, paths[i]);
            if (result && (count++ == 0 || (!is_file && is_later_step(paths[i], named)))) {
                named = paths[i];
                format = result->format;
            }
        }
        std::size_t const others = count - 1;
        if (count > 0)
            return "give " + named.string() + (is_file ? " itself" : "") + ", which looks like " +
                   format +
                   (others == 0   ? ""
                    : others == 1 ? ", or the other one"
                                  : ", or one of " + std::to_string(others) + " others") +
                   (is_file && others > 0 ? "; if each has shards of the same tensors, describe "
                                            "the shards with --source-layout FILE"
                                          : "");
    }
    return {};
}

/// Says that a file that may have tensors is a broken link. This happens in a cache whose files
/// were removed.
inline std::string hint_of_links(file_store const& files,
                                 vector<std::filesystem::path> const& paths) {
    for (std::filesystem::path const& path : paths)
        if (may_hold_tensors(path.filename().string()) &&
            files.find(path) == file_store::kind::nothing)
            return "'" + path.filename().string() + "' is a link to a missing file; fetch it again";
    return {};
}

/// The snapshot of a model in the cache of Hugging Face.
///
/// \par Source huggingface_hub: `refs/main` has the name of a directory in `snapshots`
inline std::string hint_of_snapshots(file_store const& files,
                                     std::filesystem::path const& directory) {
    std::filesystem::path const snapshots = directory / "snapshots", main = directory / "refs/main";
    if (files.find(snapshots) != file_store::kind::directory)
        return {};
    if (files.find(main) == file_store::kind::file)
        if (std::string const name = name_in_file(files, main);
            !name.empty() && files.find(snapshots / name) == file_store::kind::directory)
            return "give " + (snapshots / name).string() + ", which refs/main names";
    return hint_of_entries(files, files.list(snapshots));
}

/// Suggests what to open instead of `directory`, which is not a checkpoint: the last save that a
/// file in it names, other checkpoints in it, a file in it that is a whole checkpoint, or a way to
/// make it readable. Empty if unknown.
///
/// Never fails. Reads only names and a few short files.
///
/// \param paths the entries of the directory
/// \par Source `latest_checkpointed_iteration.txt` and `mp_rank_00/model_optim_rng.pt` of
///             Megatron-LM, `latest` of DeepSpeed and `latest_universal` of its ds_to_universal.py
inline std::string directory_hint(file_store const& files, std::filesystem::path const& directory,
                                  vector<std::filesystem::path> const& paths) {
    try {
        if (std::string text = hint_of_ranks(files, paths); !text.empty())
            return text;
        if (std::string text = hint_of_arrays(files, directory, paths); !text.empty())
            return text;
        if (std::string text = hint_of_parts(files, directory, paths); !text.empty())
            return text;
        if (std::string text = hint_of_links(files, paths); !text.empty())
            return text;
        if (std::string text = hint_of_snapshots(files, directory); !text.empty())
            return text;
        std::string latest = hint_of_latest(files, directory);
        if (latest.starts_with("give "))
            return latest;
        std::string entries = hint_of_entries(files, paths);
        return entries.empty() ? latest : entries;
    } catch (error const&) {
        return {}; // a directory that cannot be read must not cause another error
    }
}

/// Says that a file that was opened alone is only a part of a model, judging by its name. Empty for
/// any other file, and for a file that describes its shards.
///
/// Lists directories only if the name is the name of a part. Never fails.
inline std::string opened_part(file_store const& files, checkpoint_metadata const& metadata) try {
    if (metadata.files.size() != 1 || metadata.format == "sharded_safetensors" ||
        files.find(metadata.path) != file_store::kind::file)
        return {};
    auto const parts_of = [&](std::filesystem::path const& path) {
        return part_of(path) ? parts_with(path, files.list(in_directory(path).parent_path())).size()
                             : 0;
    };
    std::filesystem::path const around = in_directory(metadata.path).parent_path();
    bool const is_part = parts_of(metadata.path) > 0;
    if (!is_part && parts_of(around) < 2) // such as mp_rank_00/model_optim_rng.pt
        return {};
    auto const format = detect_format_of_directory(files, around);
    bool const has_whole = format && format->format != "sharded_safetensors";
    return metadata.path.string() +
           ": judging by its name, this is one of several parts of a model, and the other parts "
           "are not read; " +
           (has_whole ? "give the directory, " + around.string() + ", which has " + format->mark
            : part_of(is_part ? metadata.path : around)->is_of_ranks
                ? "describe which shards these files have in a layout file, and pass it with "
                  "--source-layout FILE"
                : "give the directory, with the index that lists all parts");
} catch (error const&) {
    return {}; // a directory that cannot be listed must not prevent reading the file
}

/// The number of the save in PaddlePaddle's file names: `0` for `3_0.safetensors` of rank 3; empty
/// for any other name.
inline std::string save_of_paddle(std::string_view name) {
    auto const digits = [&](std::size_t begin) {
        std::size_t const end = std::min(name.find_first_not_of("0123456789", begin), name.size());
        return name.substr(begin, end - begin);
    };
    std::string_view const rank = digits(0);
    if (rank.empty() || !name.substr(rank.size()).starts_with('_'))
        return {};
    std::string_view const save = digits(rank.size() + 1);
    bool const is_all = name.substr(rank.size() + 1 + save.size()) == ".safetensors";
    return is_all ? std::string(save) : std::string();
}

/// The name of the missing file that describes safetensors files, judging by their names; empty if
/// unknown.
inline std::string lost_index(vector<std::filesystem::path> const& paths) {
    std::string const first = paths.front().filename().string();
    std::string const text = first_and_more("'" + first + "'", paths.size());
    if (std::string const save = save_of_paddle(first); !save.empty())
        return "this save of PaddlePaddle is not finished, or lost " + save +
               ".metadata, which lists the content of " + text + "; give another checkpoint";
    if (std::string const part = part_of_index(first); !part.empty())
        return part + ".safetensors.index.json is missing; it lists the tensors in " + text;
    return {};
}

/// Refuses a directory that has files of a model without their index: the model's tensors would be
/// missing in a Unified Checkpoint.
inline void check_no_model(file_store const& files, std::filesystem::path const& directory) {
    vector<std::filesystem::path> parts;
    for (std::filesystem::path const& path : files.list(directory))
        if (path.extension() == ".safetensors" &&
            part_of_index(path.filename().string()) == "model")
            parts.push_back(path);
    if (!parts.empty())
        fail(errc::corrupt_file, directory.string(), ": ", lost_index(parts));
}

} // namespace reshard::detail

#endif
