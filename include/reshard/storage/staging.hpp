// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_STAGING_HPP
#define RESHARD_STORAGE_STAGING_HPP

#include <reshard/core/vector.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/os/atomic_replace.hpp>
#include <reshard/os/file_bytes.hpp>
#include <reshard/storage/replacement.hpp>

#include <fcntl.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

/// \file
/// Writes a target under a temporary name, and then makes it appear in one step.

namespace reshard::detail {

inline std::filesystem::path without_slash(std::filesystem::path const& path) {
    return path.has_filename() ? path : path.parent_path();
}

/// Refuses a target that cannot be created, or must not be replaced.
inline void check_target(std::filesystem::path const& target, bool replace) {
    if (target.empty())
        fail(errc::usage, "the target is an empty path; give the name of a directory");
    std::error_code problem;
    auto const match = std::filesystem::symlink_status(target, problem).type();
    if (match == std::filesystem::file_type::none)
        fail_io(target, "cannot be examined", problem.value());
    bool const exists = match != std::filesystem::file_type::not_found;
    if (exists && !replace)
        fail(errc::already_exists, target.string(),
             ": already exists; give another target, or allow it to be replaced");
    check_parent(target);
    if (match == std::filesystem::file_type::directory) {
        check_no_mount_point(target);
        files_to_keep(target);
        check_not_needed(target);
    } else if (exists) {
        check_replaced_file(target);
    }
}

/// Copies files into a directory. Skips names that exist there.
inline void copy_files(vector<std::filesystem::path> const& files,
                       std::filesystem::path const& directory) {
    for (std::filesystem::path const& file : files) {
        std::error_code problem;
        std::filesystem::copy_file(file, directory / file.filename(),
                                   std::filesystem::copy_options::skip_existing, problem);
        if (problem)
            fail_io(file, "cannot be copied beside the new checkpoint", problem.value());
    }
}

/// Copies files of the file system into a target of another store.
inline void copy_files(vector<std::filesystem::path> const& files, file_store::unfinished& target) {
    for (std::filesystem::path const& path : files) {
        input_file const file(path);
        vector<std::byte> bytes(file.facts().bytes);
        file.read(0, bytes);
        target.open(path.filename(), bytes.size())->write(0, bytes);
    }
}

/// Creates a directory, and locks it to show other processes that its writer is alive.
inline file_descriptor create_temporary(std::filesystem::path const& temporary,
                                        std::filesystem::path const& target) {
    return create_locked(temporary, target, [&] {
        std::error_code problem;
        std::filesystem::create_directory(temporary, problem);
        if (problem)
            fail_io(target, "cannot be written", problem.value());
    });
}

/// A complete directory that still has a temporary name. Nothing here communicates.
struct staged_directory {
    std::filesystem::path target;
    std::filesystem::path temporary;
    bool replace = false;

    /// Renames the directory to the target. First copies the old target's files that stay, except
    /// names that the directory has. The old target gets the temporary name.
    ///
    /// \throws error as `atomic_replace`; then the target is unchanged
    void appear() const {
        std::error_code problem;
        if (replace && std::filesystem::exists(target, problem))
            copy_files(files_to_keep(target), temporary);
        atomic_replace(temporary, target, replace);
        if (auto const lost = attempt([&] { sync_directory(target / ".."); }))
            fail(errc::io, target.string(),
                 ": was written, but may be lost if the machine stops now: ", lost->what());
    }

    /// Removes the directory with the temporary name: the incomplete directory, or the old target.
    void remove_temporary() const {
        std::error_code ignored;
        std::filesystem::remove_all(temporary, ignored);
    }
};

/// A temporary directory beside a target. Files are written there; then the directory is renamed.
///
/// If the process dies, the temporary directory stays (see `temporary_name`), and the next writer
/// removes it. The target is never half written.
class staged_target : public file_store::unfinished {
public:
    /// Completes an interrupted replacement, removes the files of dead writers, and creates the
    /// temporary directory.
    ///
    /// \throws error with errc::already_exists if the target exists and `replace` is false, or if
    ///         it holds files that are not part of a checkpoint; with errc::io if the directory
    ///         could not be created
    staged_target(std::filesystem::path const& target, bool replace)
        : staged_{resolved(without_slash(target)), {}, replace} {
        staged_.temporary = staged_.target;
        staged_.temporary.replace_filename(temporary_name(staged_.target));
        finish_replacement(staged_.target);
        check_target(staged_.target, replace);
        removed_ = remove_stale_files(staged_.target);
        directory_ = create_temporary(staged_.temporary, staged_.target);
    }

    /// Joins the temporary directory that another process created.
    ///
    /// \throws error with errc::io if this process does not see the directory
    staged_target(std::filesystem::path const& target, bool replace,
                  std::filesystem::path temporary)
        : staged_{resolved(without_slash(target)), std::move(temporary), replace} {
        std::error_code problem;
        if (!std::filesystem::is_directory(staged_.temporary, problem))
            fail(errc::io, staged_.target.string(), ": this process does not see the directory ",
                 staged_.temporary.string(),
                 ", which rank 0 made for it; all ranks must see the same file system");
    }

    std::string name() const override { return staged_.temporary.string(); }

    std::unique_ptr<file_store::output> open(std::filesystem::path const& file,
                                             std::uint64_t bytes) override {
        return std::make_unique<output_file>(output_file::open(staged_.temporary / file, bytes));
    }

    void commit() override { staged_.appear(); }
    void clean_up() noexcept override { staged_.remove_temporary(); }
    vector<std::string> removed() const override { return removed_; }

private:
    staged_directory staged_;
    vector<std::string> removed_;
    file_descriptor directory_; ///< locked while this object lives, as its writer
};

/// The store of the file system, for reading and writing.
class written_system_files : public system_files {
public:
    std::unique_ptr<unfinished> begin(std::filesystem::path const& target,
                                      bool replace) const override {
        return std::make_unique<staged_target>(target, replace);
    }

    std::unique_ptr<unfinished> join(std::filesystem::path const& target, bool replace,
                                     std::string const& name) const override {
        return std::make_unique<staged_target>(target, replace, name);
    }
};

/// The store to write to; by default, the file system.
inline std::shared_ptr<file_store const> store_for(std::shared_ptr<file_store const> files) {
    return files ? std::move(files) : std::make_shared<written_system_files const>();
}

/// Writes a complete file of a target.
inline void write_new_file(file_store::unfinished& target, std::filesystem::path const& name,
                           std::string_view text, bool sync) {
    auto const file = target.open(name, text.size());
    file->write(0, std::as_bytes(std::span(text)));
    if (sync)
        file->sync();
}

/// A target that all ranks write together. It appears in one step.
class staging {
public:
    /// Begins the target on the first rank. The other ranks join it.
    ///
    /// \param  files the store; null: the file system
    /// \par Collective every rank of the group
    /// \throws error as `file_store::begin` and `join`, on every rank
    staging(group auto const& world, std::shared_ptr<file_store const> const& files,
            std::filesystem::path const& target, bool replace)
        : staging(store_for(files)) {
        agree_on(world, [&] {
            if (world.rank() == 0)
                target_ = store_->begin(target, replace);
        });
        std::string const name =
            gather_values(world, target_ ? target_->name() : std::string()).front();
        is_first_ = world.rank() == 0;
        agree_on(world, [&] {
            try {
                if (!is_first_)
                    target_ = store_->join(target, replace, name);
            } catch (error const& problem) {
                fail(problem.code(), problem.what(), " (rank ", world.rank(), ")");
            }
        });
    }
    staging(staging const&) = delete;
    staging& operator=(staging const&) = delete;

    /// Removes the directory if it was not committed; else the old target that it replaced.
    ~staging() {
        if (is_first_ && target_)
            target_->clean_up();
    }

    file_store::unfinished& target() const { return *target_; }

    /// Returns the target. The caller then has to commit it and to clean up.
    std::unique_ptr<file_store::unfinished> release() { return std::move(target_); }

    /// The removed files of dead writers. Only the first rank knows them.
    vector<std::string> removed() const { return target_->removed(); }

    /// Makes the target appear.
    ///
    /// \par Collective every rank of the group, after all of them have written their shares
    /// \throws error as `unfinished::commit`, on every rank; then the target is unchanged
    void commit(group auto const& world) {
        agree_on(world, [&] {
            if (world.rank() == 0)
                target_->commit();
        });
    }

private:
    explicit staging(std::shared_ptr<file_store const> store) : store_(std::move(store)) {}

    std::shared_ptr<file_store const> store_;
    std::unique_ptr<file_store::unfinished> target_;
    bool is_first_ = false;
};

} // namespace reshard::detail

#endif
