// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_CHECKPOINT_WRITER_HPP
#define RESHARD_STORAGE_CHECKPOINT_WRITER_HPP

#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/os/mapped_file.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/put_in_place.hpp>
#include <reshard/storage/replacement.hpp>
#include <reshard/storage/target_files.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <list>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

/// \file
/// The files of a checkpoint as tensors in memory, to be filled, and then to appear all at once.

namespace reshard::detail {

inline std::filesystem::path without_slash(std::filesystem::path const& path) {
    return path.has_filename() ? path : path.parent_path();
}

inline void check_parent(std::filesystem::path const& target) {
    std::filesystem::path const parent = target.parent_path();
    std::error_code ignored;
    if (parent.empty() || std::filesystem::is_directory(parent, ignored))
        return;
    fail(errc::io, target.string(), ": ", parent.string(), ", its parent directory, ",
         std::filesystem::exists(parent, ignored) ? "is none" : "does not exist");
}

/// Refuses a target that must not be written.
inline void check_target(std::filesystem::path const& target, bool replace) {
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
    check_parent(target);
    if (found == std::filesystem::file_type::directory) {
        check_no_mount_point(target);
        files_to_keep(target);
    } else if (is_there) {
        check_replaced_file(target);
    }
}

/// Copies files into a directory, but for names that are there.
inline void copy_files(std::vector<std::filesystem::path> const& files,
                       std::filesystem::path const& directory) {
    for (std::filesystem::path const& file : files) {
        std::error_code problem;
        std::filesystem::copy_file(file, directory / file.filename(),
                                   std::filesystem::copy_options::skip_existing, problem);
        if (problem)
            fail_io(file, "cannot be copied beside the new checkpoint", problem.value());
    }
}

inline void create_temporary(std::filesystem::path const& temporary,
                             std::filesystem::path const& target) {
    std::error_code problem;
    if (std::filesystem::create_directory(temporary, problem))
        return;
    if (problem)
        fail_io(target, "cannot be written", problem.value());
    fail(errc::already_exists, target.string(), ": cannot be written, since ", temporary.string(),
         " of an earlier process is there; remove it first");
}

/// A temporary directory beside a target: files are written there, and the whole is renamed last.
///
/// A process that dies leaves the temporary directory (`.NAME.partial-PID`), never half a target.
class staging {
public:
    /// Creates the temporary directory, on the first rank.
    ///
    /// \par Collective every rank of the group
    /// \throws error with errc::already_exists where the target is there and `replace` is false, or
    ///         it holds what is no part of a checkpoint; with errc::io where it could not be
    ///         created; on every rank alike
    staging(group auto const& world, std::filesystem::path const& target, bool replace)
        : replace_(replace) {
        agree_on(world, [&] { target_ = resolved(without_slash(target)); });
        std::string const pid = std::to_string(gather_values(world, ::getpid()).front());
        temporary_ = target_;
        temporary_.replace_filename("." + target_.filename().string() + ".partial-" + pid);
        agree_on(world, [&] {
            if (world.rank() != 0)
                return;
            check_target(target_, replace_);
            create_temporary(temporary_, target_);
            created_ = true;
        });
    }
    staging(staging const&) = delete;
    staging& operator=(staging const&) = delete;

    /// Removes what was not committed, or what the commit replaced.
    ~staging() {
        std::error_code ignored;
        if (created_)
            std::filesystem::remove_all(temporary_, ignored);
    }

    std::filesystem::path const& path() const { return temporary_; }

    /// Makes the target appear.
    ///
    /// \par Collective every rank of the group, after all of them have written what they had to
    /// \throws error as `put_in_place`, on every rank alike, and the target is what it was
    void commit(group auto const& world) {
        agree_on(world, [&] {
            if (world.rank() != 0)
                return;
            keep_files();
            put_in_place(temporary_, target_, replace_);
            sync_parent();
        });
    }

private:
    /// Gives the new checkpoint what stays of the old one, unless it has files of these names.
    void keep_files() const {
        std::error_code problem;
        if (replace_ && std::filesystem::exists(target_, problem))
            copy_files(files_to_keep(target_), temporary_);
    }

    void sync_parent() const {
        if (auto const problem = attempt([&] { sync_directory(target_ / ".."); }))
            fail(errc::io, target_.string(),
                 ": is written, but may be lost if the machine stops now: ", problem->what());
    }

    std::filesystem::path target_;
    std::filesystem::path temporary_;
    bool replace_;
    bool created_ = false;
};

/// What a process tells of a file that it has written.
struct written_file {
    holder_t number = 0;
    std::vector<std::vector<std::uint64_t>> digests; ///< of the tensors, in the order of their data

    static constexpr void members(auto& self, auto&& visit) { visit(self.number, self.digests); }
};

/// A checkpoint that is being written: the files that this process writes, as memory.
///
/// The files of layout rank `r` are written by process `r % size`. Nothing is at the target until
/// `commit`.
///
/// \pre every member function with a group gets the same one
class checkpoint_writer {
public:
    /// Creates this process's files, all zeros, in a temporary directory beside `target`.
    ///
    /// \par Collective every rank of the group, with equal plans
    /// \throws error as `staging`, and with errc::io where a disk is full; on every rank alike
    checkpoint_writer(group auto const& world, std::filesystem::path const& target,
                      checkpoint_plan const& files, bool replace)
        : plan_(files), directory_(world, target, replace) {
        agree_on(world, [&] {
            files_.resize(plan_.headers.size());
            for (holder_t const i : files_of_process(plan_, world.rank(), world.size()))
                create(i);
        });
    }

    /// The first byte of each file that this process writes; null for the others.
    std::vector<std::byte*> const& files() const { return files_; }

    /// The shards in the files that this process writes.
    state_dict tensors() const {
        state_dict all;
        for (checkpoint_tensor const& tensor : plan_.metadata.tensors)
            for (checkpoint_shard const& shard : tensor.shards)
                if (std::byte* const file = files_[shard.file])
                    all.add({tensor.key, tensor.dtype, tensor.shape, shard.region, shard.flat},
                            view_in_file<tensor_view>(tensor, shard, file));
        return all;
    }

    /// Waits for the disk, then makes the whole checkpoint appear; the record is written last.
    ///
    /// \param beside files that are copied beside it
    /// \par Collective every rank of the group
    /// \throws error with errc::io on every rank alike, and the target is what it was
    void commit(group auto const& world, std::vector<std::filesystem::path> const& beside = {}) {
        std::vector<written_file> mine;
        agree_on(world, [&] { mine = digests_of_files(); });
        auto const all = gather_values(world, mine);
        sealed_checkpoint sealed;
        agree_on(world, [&] {
            sealed = seal(plan_, by_file(all));
            for (written_file const& file : mine)
                std::memcpy(files_[file.number], sealed.headers[file.number].data(),
                            sealed.headers[file.number].size());
            for (mapped_output& file : outputs_)
                file.sync();
            outputs_.clear();
        });
        agree_on(world, [&] {
            if (world.rank() != 0)
                return;
            copy_files(beside, directory_.path());
            if (!plan_.index.empty())
                write_new_file(directory_.path() / hf_index_name, plan_.index);
            write_new_file(directory_.path() / save_record_name, sealed.record);
        });
        directory_.commit(world);
    }

private:
    void create(holder_t number) {
        checkpoint_file const& file = plan_.metadata.files[number];
        std::string const& header = plan_.headers[number];
        outputs_.emplace_back(directory_.path() / file.path, static_cast<std::size_t>(file.bytes));
        files_[number] = outputs_.back().data();
        std::memcpy(files_[number], header.data(), header.size());
    }

    std::vector<written_file> digests_of_files() const {
        std::vector<written_file> written;
        auto const shards = shards_by_file(plan_.metadata);
        for (holder_t number = 0; number < files_.size(); ++number) {
            std::byte const* const file = files_[number];
            if (!file)
                continue;
            std::size_t const chunk = plan_.metadata.files[number].chunk_bytes;
            written.push_back({number, {}});
            for (checkpoint_shard const* const shard : shards[number])
                written.back().digests.push_back(
                    digests_of({file + shard->begin, file + shard->end}, chunk));
        }
        return written;
    }

    std::vector<chunk_digests> by_file(std::vector<std::vector<written_file>> const& all) const {
        std::vector<chunk_digests> files(files_.size());
        for (auto const& of_process : all)
            for (written_file const& file : of_process)
                files[file.number] = {plan_.metadata.files[file.number].chunk_bytes, file.digests};
        return files;
    }

    checkpoint_plan const& plan_;
    staging directory_;
    std::list<mapped_output> outputs_;
    std::vector<std::byte*> files_;
};

} // namespace reshard::detail

#endif
