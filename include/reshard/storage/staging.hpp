// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_STAGING_HPP
#define RESHARD_STORAGE_STAGING_HPP

#include <reshard/group/agree.hpp>
#include <reshard/storage/mapped_file.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include <sys/syscall.h>

/// \file
/// A directory that appears at once, complete, or not at all.

namespace reshard {

namespace detail {

inline std::filesystem::path without_slash(std::filesystem::path const& path) {
    return path.has_filename() ? path : path.parent_path();
}

/// True where replacing `path` can lose nothing but a checkpoint.
inline bool is_replaceable(std::filesystem::path const& path) {
    auto const is_data = [](std::filesystem::path const& file) {
        return file.extension() == ".safetensors";
    };
    if (!std::filesystem::is_directory(path))
        return is_data(path);
    std::filesystem::directory_iterator const files(path);
    return files == end(files) || std::any_of(files, end(files), is_data);
}

inline void check_target(std::filesystem::path const& target, bool replace) {
    bool const is_there = std::filesystem::exists(std::filesystem::symlink_status(target));
    if (is_there && replace && !is_replaceable(target))
        fail(errc::already_exists, target.string() + ": is no checkpoint, and is not replaced; " +
                                       "remove it first, or give another target");
    if (is_there && !replace)
        fail(errc::already_exists,
             target.string() +
                 ": is there already; give another target, or replace it with --force");
    std::filesystem::path const parent = target.parent_path();
    if (!parent.empty() && !std::filesystem::is_directory(parent))
        fail(errc::io, target.string() + ": the directory " + parent.string() +
                           " that it should be created in does not exist");
}

/// Puts `fresh` in the place of `target` in one step, where the system can.
///
/// \post `fresh` is gone, or is what `target` was
inline void put_in_place(std::filesystem::path const& fresh, std::filesystem::path const& target) {
    constexpr unsigned exchange_both = 2; // RENAME_EXCHANGE
    if (::rename(fresh.c_str(), target.c_str()) == 0)
        return;
    if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
        fail_io(target, "cannot be put in place");
    if (::syscall(SYS_renameat2, AT_FDCWD, fresh.c_str(), AT_FDCWD, target.c_str(),
                  exchange_both) != 0)
        fail_io(target, "cannot be replaced");
}

} // namespace detail

/// A temporary directory beside a target: files are written there, and the whole is renamed last.
///
/// A process that dies leaves the temporary directory (`.NAME.partial-PID`), never half a target.
template <group Group>
class staging {
public:
    /// Creates the temporary directory, on the first rank.
    ///
    /// \par Collective every rank of the group
    /// \throws error with errc::already_exists where the target is there and `replace` is false, or with
    ///         errc::io where it could not be created; on every rank alike
    staging(Group const& world, std::filesystem::path const& target, bool replace)
        : world_(world), target_(detail::without_slash(target)) {
        std::string const own = std::to_string(::getpid());
        std::string const pid = world_.all_gather(own).front();
        temporary_ = target_;
        temporary_.replace_filename("." + target_.filename().string() + ".partial-" + pid);
        agree_on(world_, [&] {
            if (world_.rank() != 0)
                return;
            detail::check_target(target_, replace);
            std::error_code problem;
            if (!std::filesystem::create_directory(temporary_, problem))
                detail::fail_io(target_, "cannot be written", problem ? problem.value() : EEXIST);
            created_ = true;
        });
    }
    staging(staging const&) = delete;
    staging& operator=(staging const&) = delete;

    /// Removes what was not committed.
    ~staging() {
        std::error_code ignored;
        if (created_)
            std::filesystem::remove_all(temporary_, ignored);
    }

    std::filesystem::path const& path() const { return temporary_; }

    /// Makes the target appear.
    ///
    /// \par Collective every rank of the group, after all of them have written what they had to
    void commit() {
        agree_on(world_, [&] {
            if (world_.rank() == 0)
                detail::put_in_place(temporary_, target_);
        });
    }

private:
    Group const& world_;
    std::filesystem::path target_;
    std::filesystem::path temporary_;
    bool created_ = false;
};

} // namespace reshard

#endif
