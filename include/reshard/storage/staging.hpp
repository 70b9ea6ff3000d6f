// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_STAGING_HPP
#define RESHARD_STORAGE_STAGING_HPP

#include <reshard/group/agree.hpp>
#include <reshard/storage/put_in_place.hpp>

#include <filesystem>
#include <string>
#include <system_error>

/// \file
/// A directory that appears at once, complete, or not at all.

namespace reshard {

namespace detail {

inline std::filesystem::path without_slash(std::filesystem::path const& path) {
    return path.has_filename() ? path : path.parent_path();
}

/// True where `path` is what a checkpoint may replace: a `.safetensors` file, an empty directory, or a
/// directory that has a `.safetensors` file, and no directory, in it; its other files go with it.
inline bool is_replaceable(std::filesystem::path const& path) {
    auto const is_data = [](std::filesystem::path const& file) {
        return file.extension() == ".safetensors";
    };
    if (!std::filesystem::is_directory(path))
        return is_data(path);
    bool is_empty = true, has_data = false;
    for (auto const& entry : std::filesystem::directory_iterator(path)) {
        if (entry.is_directory())
            return false;
        is_empty = false;
        has_data = has_data || is_data(entry.path());
    }
    return is_empty || has_data;
}

inline void check_parent(std::filesystem::path const& target) {
    std::filesystem::path const parent = target.parent_path();
    std::error_code ignored;
    if (parent.empty() || std::filesystem::is_directory(parent, ignored))
        return;
    fail(errc::io, target.string() + ": " + parent.string() +
                       ", the directory that it should be created in, " +
                       (std::filesystem::exists(parent, ignored) ? "is none" : "does not exist"));
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
        fail(errc::already_exists,
             target.string() +
                 ": is there already; give another target, or allow it to be replaced");
    if (is_there && !is_replaceable(target))
        fail(errc::already_exists, target.string() + ": is no checkpoint, and is not replaced; " +
                                       "remove it first, or give another target");
    check_parent(target);
}

inline void create_temporary(std::filesystem::path const& temporary,
                             std::filesystem::path const& target) {
    std::error_code problem;
    if (std::filesystem::create_directory(temporary, problem))
        return;
    if (problem)
        fail_io(target, "cannot be written", problem.value());
    fail(errc::already_exists, target.string() + ": cannot be written, since " +
                                   temporary.string() +
                                   " of an earlier process is there; remove it first");
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
    /// \throws error with errc::already_exists where the target is there and `replace` is false or the
    ///         target is no checkpoint, or with errc::io where it could not be created; on every rank alike
    staging(Group const& world, std::filesystem::path const& target, bool replace)
        : world_(world), target_(detail::without_slash(target)), replace_(replace) {
        std::string const own = std::to_string(::getpid());
        std::string const pid = world_.all_gather(own).front();
        temporary_ = target_;
        temporary_.replace_filename("." + target_.filename().string() + ".partial-" + pid);
        agree_on(world_, [&] {
            if (world_.rank() != 0)
                return;
            detail::check_target(target_, replace_);
            detail::create_temporary(temporary_, target_);
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
    void commit() {
        agree_on(world_, [&] {
            if (world_.rank() != 0)
                return;
            detail::put_in_place(temporary_, target_, replace_);
            attempt([&] { detail::sync_directory(target_ / ".."); }); // the target is there already
        });
    }

private:
    Group const& world_;
    std::filesystem::path target_;
    std::filesystem::path temporary_;
    bool replace_;
    bool created_ = false;
};

} // namespace reshard

#endif
