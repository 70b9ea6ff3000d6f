// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_CHECKPOINT_WRITER_HPP
#define RESHARD_STORAGE_CHECKPOINT_WRITER_HPP

#include <reshard/core/vector.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/written_formats.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/storage/delta_base.hpp>
#include <reshard/storage/staging.hpp>
#include <reshard/storage/target_files.hpp>
#include <reshard/storage/written_files.hpp>

#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

/// \file
/// All ranks write a checkpoint together. It appears at its target when it is complete.

namespace reshard::detail {

/// Calls `take(i)` for each file that process `rank` of `size` creates and finishes.
void for_each_own_file(checkpoint_plan const& files, int rank, int size, auto&& take) {
    for (auto i = static_cast<holder_t>(rank); i < files.headers.size();
         i += static_cast<holder_t>(size))
        take(i);
}

/// The facts for the record of a save that is complete now.
inline save_facts facts_of(write_options const& options) {
    return {.completed = std::time(nullptr),
            .numbers = options.numbers,
            .program = options.program,
            .this_layout_only = options.this_layout_only};
}

/// Returns the target after it has checked it. A single file must be in the file system, and cannot
/// be a delta.
///
/// \par Collective every rank of the group
/// \throws error on every rank, with errc::usage, and as `check_file_target`
std::filesystem::path const& checked_target(group auto const& world,
                                            std::filesystem::path const& target,
                                            checkpoint_plan const& plan,
                                            write_options const& options) {
    agree_on(world, [&] {
        if (!plan.is_file)
            return;
        if (options.files || !options.base.empty())
            fail(errc::usage, target.string(),
                 ": a single file cannot be a delta or be written to a store of files; omit ",
                 options.files ? "the store of files" : "the base of a delta",
                 ", or write a directory");
        if (world.rank() == 0)
            check_file_target(target, written_format_of(plan.metadata.format));
    });
    return target;
}

/// A checkpoint that several processes write. They write the bytes of shards first (`files().put`).
/// The headers and the record come last, and make the files a checkpoint.
///
/// Nothing changes at the target until `commit`.
///
/// \pre every member function gets the same group
class checkpoint_writer {
public:
    /// Creates the files in `options.files`; in the file system, in a temporary directory beside
    /// `target`.
    ///
    /// \par Collective every rank of the group, with equal plans
    /// \throws error on every rank, as `staging` and `base_of_all`, and with errc::io if a disk is
    ///         full
    checkpoint_writer(group auto const& world, std::filesystem::path const& target,
                      checkpoint_plan const& plan, write_options const& options)
        : how_(options),
          target_path_(target),
          base_(base_of_all(world, checked_target(world, target, plan, options), options)),
          target_(world, options.files, target, options.replace),
          files_(plan, target_.target(), base_.get(), world.rank()) {
        if (base_)
            return;
        agree_on(world, [&] {
            for_each_own_file(plan, world.rank(), world.size(),
                              [&](holder_t i) { files_.open(i); });
        });
    }

    written_files& files() { return files_; }

    /// The removed files of earlier writers that died.
    vector<std::string> removed() const { return target_.removed(); }

    /// Waits for the disk, writes the record last, and makes the whole checkpoint appear.
    ///
    /// \param beside files to copy into the directory of the checkpoint
    /// \param config a new text for the copied `config.json`, if it has to change
    /// \pre   the processes have put each byte of each file
    /// \par Collective every rank of the group
    /// \return the id of the save; empty for a single file
    /// \throws error with errc::io on every rank; then the target is unchanged
    std::string commit(group auto const& world, vector<std::filesystem::path> const& beside = {},
                       std::optional<std::string> const& config = {}) {
        sealed_checkpoint sealed;
        auto const values = gather_values(world, files_.runs());
        std::string const salt =
            gather_values(world, how_.digests ? std::string() : random_text()).front();
        agree_on(world, [&] {
            sealed = seal_runs(files_.plan(), values, salt, facts_of(how_), base_.get());
            for_each_own_file(files_.plan(), world.rank(), world.size(),
                              [&](holder_t i) { files_.finish(i, sealed); });
            put_delta_headers(files_, sealed, files_.own_delta_file());
            if (how_.sync)
                files_.sync();
        });
        agree_on(world, [&] {
            if (world.rank() != 0)
                return;
            if (files_.plan().is_file)
                return put_file_in_place(std::filesystem::path(target_.target().name()) /
                                             files_.plan().metadata.files.front().path,
                                         resolved(target_path_), how_.replace);
            copy_beside(beside, config);
            if (base_)
                base_->check_there(*sealed.delta);
            put_record(target_.target(), files_.plan(), sealed, how_.sync);
        });
        if (!files_.plan().is_file)
            target_.commit(world);
        reused_ = reused_in(sealed.delta);
        return sealed.save;
    }

    /// The number of bytes that a delta takes from its base; known after `commit`.
    index_t reused() const { return reused_; }

private:
    void copy_beside(vector<std::filesystem::path> files,
                     std::optional<std::string> const& config) {
        if (config) {
            erase_if(files, [](auto const& path) { return path.filename() == hf_config_name; });
            write_new_file(target_.target(), hf_config_name, *config, how_.sync);
        }
        if (how_.files)
            copy_files(files, target_.target());
        else
            copy_files(files, std::filesystem::path(target_.target().name()));
    }

    write_options how_;
    std::filesystem::path target_path_;
    std::shared_ptr<delta_base const> base_;
    index_t reused_ = 0;
    staging target_;
    written_files files_;
};

} // namespace reshard::detail

#endif
