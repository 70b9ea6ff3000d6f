// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_CHECKPOINT_KIND_HPP
#define RESHARD_FORMAT_CHECKPOINT_KIND_HPP

#include <reshard/core/error.hpp>
#include <reshard/format/hf_index.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

/// \file
/// Which kind of checkpoint stands at a path.

namespace reshard {

/// What a path was found to be.
enum class checkpoint_kind {
    file,    ///< one safetensors file
    index,   ///< a directory with an index; the path is the index's
    single,  ///< a directory with `model.safetensors`
    sharded, ///< a directory with other safetensors files
};

/// A kind and the files that one begins with.
struct checkpoint_files {
    checkpoint_kind kind{};
    std::vector<std::filesystem::path> paths; ///< sorted by name; at least one

    bool operator==(checkpoint_files const&) const = default;
};

namespace detail {

/// The names in a directory, sorted.
inline std::vector<std::filesystem::path> listing(std::filesystem::path const& directory) {
    std::error_code ec;
    std::vector<std::filesystem::path> paths;
    for (std::filesystem::directory_iterator place(directory, ec), end; !ec && place != end;
         place.increment(ec))
        paths.push_back(place->path());
    if (ec)
        fail(errc::io, directory.string() + ": the directory cannot be read: " + ec.message());
    std::sort(paths.begin(), paths.end());
    return paths;
}

/// What was found instead of a checkpoint.
inline std::string found_instead(std::vector<std::filesystem::path> const& paths) {
    constexpr std::size_t most = 3;
    if (paths.empty())
        return "an empty directory";
    std::string text = "a directory with ";
    for (std::size_t i = 0; i < std::min(most, paths.size()); ++i)
        text += (i ? ", '" : "'") + paths[i].filename().string() + "'";
    return text +
           (paths.size() > most ? " and " + std::to_string(paths.size() - most) + " more" : "");
}

inline checkpoint_files find_in_directory(std::filesystem::path const& directory) {
    std::error_code ec;
    for (auto const& [name, kind] : {std::pair{hf_index_name, checkpoint_kind::index},
                                     std::pair{hf_single_name, checkpoint_kind::single}})
        if (std::filesystem::exists(directory / name, ec))
            return {kind, {directory / name}};
    auto const all = listing(directory);
    checkpoint_files found{checkpoint_kind::sharded, {}};
    for (std::filesystem::path const& path : all)
        if (path.extension() == ".safetensors" && std::filesystem::is_regular_file(path, ec))
            found.paths.push_back(path);
    if (found.paths.empty())
        fail(errc::unsupported, directory.string() + ": this is " + found_instead(all) +
                                    ", not a checkpoint: that has safetensors files");
    return found;
}

} // namespace detail

/// What stands at `path`.
///
/// \throws error with errc::missing_file where nothing does, with errc::unsupported where it is no
///         checkpoint; it says what was found
inline checkpoint_files find_checkpoint(std::filesystem::path const& path) {
    std::error_code ec;
    if (!std::filesystem::exists(path, ec))
        fail(errc::missing_file, path.string() + ": there is no such file or directory");
    if (std::filesystem::is_directory(path, ec))
        return detail::find_in_directory(path);
    if (path.extension() != ".safetensors")
        fail(errc::unsupported,
             path.string() + ": this is a file whose name does not end in .safetensors, not a "
                             "checkpoint");
    return {checkpoint_kind::file, {path}};
}

} // namespace reshard

#endif
