// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_CHECKPOINT_WRITER_HPP
#define RESHARD_STORAGE_CHECKPOINT_WRITER_HPP

#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/storage/staging.hpp>
#include <reshard/storage/target_files.hpp>
#include <reshard/storage/written_files.hpp>

#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

/// \file
/// A checkpoint that all ranks write together, and that is then there all at once.

namespace reshard::detail {

/// Calls `take(i)` for the files that process `rank` of `size` begins and ends.
void for_each_own_file(checkpoint_plan const& files, int rank, int size, auto&& take) {
    for (auto i = static_cast<holder_t>(rank); i < files.headers.size();
         i += static_cast<holder_t>(size))
        take(i);
}

/// The target of a checkpoint that is to be written; one file cannot be at each.
///
/// \par Collective every rank of the group
std::filesystem::path const& checked_target(group auto const& world,
                                            std::filesystem::path const& target,
                                            checkpoint_plan const& plan) {
    agree_on(world, [&] {
        if (plan.is_file && world.rank() == 0)
            check_file_target(target);
    });
    return target;
}

/// A checkpoint that is being written, by several processes: bytes of shards (`files().put`), and
/// at last what makes them a checkpoint.
///
/// Nothing is at the target until `commit`.
///
/// \pre every member function with a group gets the same one
class checkpoint_writer {
public:
    /// Creates the files in a temporary directory beside `target`.
    ///
    /// \par Collective every rank of the group, with equal plans
    /// \throws error as `staging`, and with errc::io where a disk is full; on every rank alike
    checkpoint_writer(group auto const& world, std::filesystem::path const& target,
                      checkpoint_plan const& plan, write_options const& how)
        : how_(how),
          directory_(world, checked_target(world, target, plan), how.replace),
          files_(plan, directory_.path()) {
        agree_on(world, [&] {
            for_each_own_file(plan, world.rank(), world.size(),
                              [&](holder_t i) { files_.open(i); });
        });
    }

    written_files& files() { return files_; }

    /// What earlier writers had left, and was removed.
    std::vector<std::string> const& removed() const { return directory_.removed(); }

    /// Waits for the disk, then makes the whole checkpoint appear; the record is written last.
    ///
    /// \param beside files that are copied beside it
    /// \pre   all bytes of all files were put, by some process
    /// \par Collective every rank of the group
    /// \return the id of the save; empty for one file
    /// \throws error with errc::io on every rank alike, and the target is what it was
    std::string commit(group auto const& world,
                       std::vector<std::filesystem::path> const& beside = {}) {
        sealed_checkpoint sealed;
        auto const all = gather_values(world, files_.runs());
        std::string const salt =
            gather_values(world, how_.digests ? std::string() : random_text()).front();
        agree_on(world, [&] {
            sealed = seal_runs(files_.plan(), all, salt, {std::time(nullptr), how_.numbers, {}});
            for_each_own_file(files_.plan(), world.rank(), world.size(),
                              [&](holder_t i) { files_.put_header(i, sealed.headers[i]); });
            if (how_.sync)
                files_.sync();
        });
        agree_on(world, [&] {
            if (world.rank() != 0)
                return;
            if (files_.plan().is_file)
                return put_file_in_place(directory_.path() /
                                             files_.plan().metadata.files.front().path,
                                         directory_.directory().target, how_.replace);
            copy_files(beside, directory_.path());
            put_record(directory_.path(), files_.plan(), sealed, how_.sync);
        });
        if (!files_.plan().is_file)
            directory_.commit(world);
        return sealed.save;
    }

private:
    write_options how_;
    staging directory_;
    written_files files_;
};

} // namespace reshard::detail

#endif
