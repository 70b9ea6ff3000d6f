// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_DELTA_BASE_IPP
#define RESHARD_STORAGE_IMPL_DELTA_BASE_IPP

#include <reshard/storage/delta_base.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/checkpoint.hpp>
#include <reshard/format/delta_files.hpp>
#include <reshard/format/text_file.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

namespace reshard::detail {

/// An absolute path without symbolic links, for relative paths. The path need not exist.
inline std::filesystem::path real_path(std::filesystem::path const& path) {
    std::filesystem::path const real =
        std::filesystem::weakly_canonical(std::filesystem::absolute(path));
    return real.has_filename() ? real : real.parent_path();
}

RESHARD_DECL delta_base::delta_base(std::shared_ptr<file_store const> files,
                                    std::filesystem::path const& path,
                                    std::filesystem::path const& target)
    : files_(files), target_(real_path(target)), path_(path) {
    files = store_of_checkpoint(std::move(files), path);
    metadata_ = open_in(*files, path, {});
    if (metadata_.save.empty())
        fail(errc::unsupported, path.string(), ": cannot be the base of a delta: it has no ",
             save_record_name, "; write a whole checkpoint of it first, for example with convert");
    record_ = read_record_head(*files, path / save_record_name); // the record was checked above
    if (record_.save != metadata_.save)
        fail(errc::corrupt_file, path.string(), ": the save ", record_.save, " replaced the save ",
             metadata_.save, " while it was being opened; try again when no process writes to it");
    if (std::ranges::any_of(metadata_.files,
                            [](checkpoint_file const& file) { return file.chunk_bytes == 0; }))
        fail(errc::unsupported, path.string(),
             ": cannot be the base of a delta: it was saved without digests, so changes cannot be "
             "found");
    std::filesystem::path const directory = real_path(path);
    directories_.try_emplace(record_.save); // its path relative to itself is empty
    for (recorded_file const& file : files_on_disk(record_))
        add_source(directory, record_.save, file);
    if (record_.delta)
        for (base_file const& base : record_.delta->bases) {
            directories_[base.save] = base.directory;
            add_source((directory / base.directory).lexically_normal(), base.save, base.file);
        }
    for (checkpoint_file const& file : metadata_.files)
        runs_.push_back(runs_of(file.path.filename().string()));
}

/// Opens a directory with a shared lock, or without a lock if the file system has no locks. Waits
/// while another process has an exclusive lock, such as `retain` while it decides which saves to
/// delete.
inline file_descriptor shared_directory(std::filesystem::path const& path) {
    constexpr auto step = std::chrono::milliseconds(10);
    for (int tries = 0; tries < 1000; ++tries, std::this_thread::sleep_for(step)) {
        file_descriptor opened = file_descriptor::open(path.string(), O_RDONLY | O_DIRECTORY);
        bool const may_go_on = opened.try_share() || errno != EWOULDBLOCK;
        if (may_go_on && is_at(opened, path.string()))
            return opened;
    }
    fail(errc::io, path.string(),
         ": cannot be the base of a delta: another process has locked it; try again later, or omit "
         "the base");
}

RESHARD_DECL void delta_base::hold() {
    for (auto const& [save, directory] : directories_) {
        try {
            held_.push_back(shared_directory(record_of(save).parent_path()));
        } catch (error const& problem) {
            if (problem.code() != errc::missing_file)
                throw;
        }
        check_there(save);
    }
}

RESHARD_DECL std::filesystem::path delta_base::record_of(std::string const& save) const {
    return path_in(*files_, path_, directories_.at(save) / save_record_name);
}

RESHARD_DECL void delta_base::check_there(std::string const& save) const {
    auto const record = record_of(save);
    std::string const noun =
        words(record.parent_path().string(), ": the save ", save, ", which the delta needs, was ");
    if (files_->find(record) != file_store::kind::file)
        fail(errc::missing_file, noun,
             "removed while the delta was being written; write a whole checkpoint");
    if (std::string const there = read_record_head(*files_, record).save; there != save)
        fail(errc::corrupt_file, noun, "replaced by the save ", there,
             " while the delta was being written; write a whole checkpoint");
}

RESHARD_DECL void delta_base::check_there(record_delta const& delta) const {
    std::set<std::string> needed;
    for (base_file const& base : delta.bases)
        needed.insert(base.save);
    for (std::string const& save : needed)
        check_there(save);
}

RESHARD_DECL vector<delta_run> delta_base::runs_of(std::string const& file) const {
    auto const position = std::ranges::find(record_.files, file, &recorded_file::name);
    auto const number = static_cast<std::uint32_t>(position - record_.files.begin());
    return record_.delta ? record_.delta->runs[number]
                         : vector<delta_run>{{position->bytes, number, 0}};
}

RESHARD_DECL void delta_base::add_source(std::filesystem::path const& directory,
                                         std::string_view save, recorded_file const& file) {
    std::filesystem::path const there = real_path(directory);
    if (there == target_)
        fail(errc::usage, target_.string(), ": is to be replaced, but the delta needs the save ",
             save, " in it; give another target, or another base");
    std::string const text = there.lexically_relative(target_).string();
    if (find_invalid_utf8(text) != text.size())
        fail(errc::usage, there.string(),
             ": cannot be the base of a delta: its path is not UTF-8, which records require; "
             "rename it, or omit the base");
    sources_.push_back({text, std::string(save), file});
}

RESHARD_DECL checkpoint_shard const* delta_base::find_like(checkpoint_tensor const& tensor,
                                                           checkpoint_shard const& shard,
                                                           std::uint64_t chunk_size,
                                                           std::size_t hint) const {
    auto const match =
        std::ranges::lower_bound(metadata_.tensors, tensor.key, {}, &checkpoint_tensor::key);
    if (match == metadata_.tensors.end() || match->key != tensor.key ||
        match->dtype != tensor.dtype || match->shape != tensor.shape)
        return nullptr;
    auto const is_like = [&](checkpoint_shard const& checkpoint_shard) {
        return is_same_part(checkpoint_shard, shard) &&
               metadata_.files[checkpoint_shard.file].chunk_bytes == chunk_size;
    };
    if (hint < match->shards.size() && is_like(match->shards[hint]))
        return &match->shards[hint];
    auto const position = std::ranges::find_if(match->shards, is_like);
    return position == match->shards.end() ? nullptr : &*position;
}

} // namespace reshard::detail

#endif
