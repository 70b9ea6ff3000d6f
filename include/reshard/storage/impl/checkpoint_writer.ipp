// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_CHECKPOINT_WRITER_IPP
#define RESHARD_STORAGE_IMPL_CHECKPOINT_WRITER_IPP

#include <reshard/storage/checkpoint_writer.hpp>

#include <reshard/core/config.hpp>
#include <reshard/os/mapped_file.hpp>
#include <reshard/storage/checkpoint.hpp>

#include <cstring>
#include <optional>
#include <string>
#include <system_error>

namespace reshard::detail {

/// True for the names that the files of a checkpoint have.
inline bool is_checkpoint_name(std::filesystem::path const& path) {
    return path.extension() == ".safetensors" ||
           path.filename().string().ends_with(".safetensors.index.json");
}

/// What would be lost if a checkpoint replaced `path`: the first name that no file of a checkpoint
/// has, of `path` itself or of what is in it.
inline std::optional<std::filesystem::path> lost_with(std::filesystem::path const& path) {
    if (!std::filesystem::is_directory(path))
        return is_checkpoint_name(path) ? std::nullopt : std::optional(path);
    std::optional<std::filesystem::path> first;
    for (auto const& entry : std::filesystem::directory_iterator(path))
        if ((entry.is_directory() || !is_checkpoint_name(entry.path())) &&
            (!first || entry.path() < *first))
            first = entry.path();
    return first;
}

inline void check_parent(std::filesystem::path const& target) {
    std::filesystem::path const parent = target.parent_path();
    std::error_code ignored;
    if (parent.empty() || std::filesystem::is_directory(parent, ignored))
        return;
    fail(errc::io, target.string(), ": ", parent.string(), ", its parent directory, ",
         std::filesystem::exists(parent, ignored) ? "is none" : "does not exist");
}

RESHARD_DECL void check_target(std::filesystem::path const& target, bool replace) {
    if (target.empty())
        fail(errc::usage, "the target is an empty path; give the name of a directory");
    std::error_code problem;
    auto const found = std::filesystem::symlink_status(target, problem).type();
    if (found == std::filesystem::file_type::none)
        fail_io(target, "cannot be examined", problem.value());
    bool const is_there = found != std::filesystem::file_type::not_found;
    if (is_there && !replace)
        fail(errc::already_exists, target.string(),
             ": already exists; give another target, or allow it to be replaced");
    if (auto const lost = is_there ? lost_with(target) : std::nullopt)
        fail(
            errc::already_exists, target.string(), ": is not replaced, for ", lost->string(),
            " is not part of a checkpoint and would be lost; move it away, or give another target");
    check_parent(target);
}

RESHARD_DECL void create_temporary(std::filesystem::path const& temporary,
                                   std::filesystem::path const& target) {
    std::error_code problem;
    if (std::filesystem::create_directory(temporary, problem))
        return;
    if (problem)
        fail_io(target, "cannot be written", problem.value());
    fail(errc::already_exists, target.string(), ": cannot be written, since ", temporary.string(),
         " of an earlier process is there; remove it first");
}

RESHARD_DECL staging::~staging() {
    std::error_code ignored;
    if (created_)
        std::filesystem::remove_all(temporary_, ignored);
}

RESHARD_DECL state_dict checkpoint_writer::tensors() const {
    state_dict all;
    for (checkpoint_tensor const& tensor : plan_.metadata.tensors)
        for (checkpoint_shard const& shard : tensor.shards)
            if (std::byte* const file = files_[shard.file])
                all.add({tensor.key, tensor.dtype, tensor.shape, shard.region, shard.flat},
                        view_in_file<tensor_view>(tensor, shard, file));
    return all;
}

RESHARD_DECL void checkpoint_writer::create(holder_t number) {
    checkpoint_file const& file = plan_.metadata.files[number];
    std::string const& header = plan_.headers[number];
    outputs_.emplace_back(directory_.path() / file.path, static_cast<std::size_t>(file.bytes));
    files_[number] = outputs_.back().data();
    std::memcpy(files_[number], header.data(), header.size());
}

} // namespace reshard::detail

#endif
