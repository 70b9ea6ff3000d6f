// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_CHECKPOINT_KIND_IPP
#define RESHARD_FORMAT_IMPL_CHECKPOINT_KIND_IPP

#include <reshard/format/checkpoint_kind.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/hf_index.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>

namespace reshard::detail {

RESHARD_DECL std::vector<std::filesystem::path> listing(std::filesystem::path const& directory) {
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
                                    ", not a checkpoint, which has safetensors files");
    return found;
}

RESHARD_DECL checkpoint_files find_checkpoint(std::filesystem::path const& path) {
    std::error_code ec;
    if (!std::filesystem::exists(path, ec))
        fail(errc::missing_file, path.string() + ": there is no such file or directory");
    if (std::filesystem::is_directory(path, ec))
        return find_in_directory(path);
    if (path.extension() != ".safetensors")
        fail(errc::unsupported,
             path.string() + ": this is a file whose name does not end in .safetensors, not a "
                             "checkpoint");
    return {checkpoint_kind::file, {path}};
}

} // namespace reshard::detail

#endif
