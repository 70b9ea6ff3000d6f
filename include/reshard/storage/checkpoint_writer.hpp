// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_CHECKPOINT_WRITER_HPP
#define RESHARD_STORAGE_CHECKPOINT_WRITER_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/os/mapped_file.hpp>
#include <reshard/storage/put_in_place.hpp>
#include <reshard/storage/target_files.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <list>
#include <string>
#include <vector>

/// \file
/// The files of a checkpoint as tensors in memory, to be filled, and then to appear all at once.

namespace reshard::detail {

inline std::filesystem::path without_slash(std::filesystem::path const& path) {
    return path.has_filename() ? path : path.parent_path();
}

/// Refuses a target that must not be written.
RESHARD_DECL void check_target(std::filesystem::path const& target, bool replace);

RESHARD_DECL void create_temporary(std::filesystem::path const& temporary,
                                   std::filesystem::path const& target);

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
    template <group Group>
    staging(Group const& world, std::filesystem::path const& target, bool replace)
        : target_(without_slash(target)), replace_(replace) {
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
    ~staging();

    std::filesystem::path const& path() const { return temporary_; }

    /// Makes the target appear.
    ///
    /// \par Collective every rank of the group, after all of them have written what they had to
    /// \throws error as `put_in_place`, on every rank alike, and the target is what it was
    template <group Group>
    void commit(Group const& world) {
        agree_on(world, [&] {
            if (world.rank() != 0)
                return;
            put_in_place(temporary_, target_, replace_);
            attempt([&] { sync_directory(target_ / ".."); }); // the target is there already
        });
    }

private:
    std::filesystem::path target_;
    std::filesystem::path temporary_;
    bool replace_;
    bool created_ = false;
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
    template <group Group>
    checkpoint_writer(Group const& world, std::filesystem::path const& target,
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
    state_dict tensors() const;

    /// Waits for the disk, then makes the whole checkpoint appear; the index is written last.
    ///
    /// \par Collective every rank of the group
    /// \throws error with errc::io on every rank alike, and the target is what it was
    template <group Group>
    void commit(Group const& world) {
        agree_on(world, [&] {
            for (mapped_output& file : outputs_)
                file.sync();
            outputs_.clear();
        });
        agree_on(world, [&] {
            if (world.rank() == 0 && !plan_.index.empty())
                write_new_file(directory_.path() / hf_index_name, plan_.index);
        });
        directory_.commit(world);
    }

private:
    void create(holder_t number);

    checkpoint_plan const& plan_;
    staging directory_;
    std::list<mapped_output> outputs_;
    std::vector<std::byte*> files_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/checkpoint_writer.ipp>
#endif

#endif
