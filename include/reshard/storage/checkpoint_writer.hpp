// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_CHECKPOINT_WRITER_HPP
#define RESHARD_STORAGE_CHECKPOINT_WRITER_HPP

#include <reshard/format/hf_index.hpp>
#include <reshard/os/mapped_file.hpp>
#include <reshard/storage/staging.hpp>
#include <reshard/storage/target_files.hpp>
#include <reshard/storage/write_whole_file.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <cstddef>
#include <filesystem>
#include <list>
#include <vector>

/// \file
/// The files of a checkpoint as tensors in memory, to be filled, and then to appear all at once.

namespace reshard::detail {

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
