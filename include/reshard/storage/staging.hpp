// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_STAGING_HPP
#define RESHARD_STORAGE_STAGING_HPP

#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/storage/put_in_place.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

/// \file
/// A directory that appears at once, complete, or not at all.

namespace reshard {

namespace detail {

inline std::filesystem::path without_slash(std::filesystem::path const& path) {
    return path.has_filename() ? path : path.parent_path();
}

/// True for the names that the files of a checkpoint have.
inline bool is_checkpoint_name(std::filesystem::path const& path) {
    return path.extension() == ".safetensors" ||
           path.filename().string().ends_with(".safetensors.index.json");
}

/// What would be lost if a checkpoint replaced `path`: the first name that no file of a checkpoint has,
/// of `path` itself or of what is in it.
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
    if (auto const lost = is_there ? lost_with(target) : std::nullopt)
        fail(errc::already_exists, target.string() + ": is not replaced, for " + lost->string() +
                                       " is no part of a checkpoint and would be lost; move it " +
                                       "away, or give another target");
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
class staging {
public:
    /// Creates the temporary directory, on the first rank.
    ///
    /// \par Collective every rank of the group
    /// \throws error with errc::already_exists where the target is there and `replace` is false, or it
    ///         holds what is no part of a checkpoint; with errc::io where it could not be created; on every rank alike
    template <group Group>
    staging(Group const& world, std::filesystem::path const& target, bool replace)
        : target_(detail::without_slash(target)), replace_(replace) {
        std::string const pid = std::to_string(gather_values(world, ::getpid()).front());
        temporary_ = target_;
        temporary_.replace_filename("." + target_.filename().string() + ".partial-" + pid);
        agree_on(world, [&] {
            if (world.rank() != 0)
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
    template <group Group>
    void commit(Group const& world) {
        agree_on(world, [&] {
            if (world.rank() != 0)
                return;
            detail::put_in_place(temporary_, target_, replace_);
            attempt([&] { detail::sync_directory(target_ / ".."); }); // the target is there already
        });
    }

private:
    std::filesystem::path target_;
    std::filesystem::path temporary_;
    bool replace_;
    bool created_ = false;
};

} // namespace reshard

#endif
