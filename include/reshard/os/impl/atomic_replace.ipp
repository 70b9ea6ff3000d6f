// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_IMPL_ATOMIC_REPLACE_IPP
#define RESHARD_OS_IMPL_ATOMIC_REPLACE_IPP

#include <reshard/os/atomic_replace.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/core/error.hpp>
#include <reshard/os/process.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <system_error>

namespace reshard::detail {

RESHARD_DECL std::string random_text() { return hex_text(new_token()) + hex_text(new_token()); }

/// A machine since its last boot.
struct machine {
    std::string host;
    std::string boot; ///< empty if it is unknown
};

/// \par Source /proc/sys/kernel/random/boot_id of Linux
inline machine this_machine() {
    char host[25] = {}; // enough to recognise the machine
    ::gethostname(host, sizeof host - 1);
    machine machine{host, {}};
    std::replace(machine.host.begin(), machine.host.end(), '/', '_');
    std::ifstream boot("/proc/sys/kernel/random/boot_id");
    std::getline(boot, machine.boot);
    machine.boot.resize(std::min<std::size_t>(machine.boot.size(), 8));
    return machine;
}

inline std::string prefix_of(std::filesystem::path const& target) {
    return "." + target.filename().string() + ".partial-";
}

RESHARD_DECL std::string temporary_name(std::filesystem::path const& target) {
    machine const here = this_machine();
    return prefix_of(target) + here.host + "-" + (here.boot.empty() ? "unknown" : here.boot) + "-" +
           random_text().substr(0, 16);
}

/// The machine of the writer in a temporary name; empty for another name.
inline machine machine_of(std::string_view name, std::string const& prefix) {
    if (!name.starts_with(prefix))
        return {};
    name.remove_prefix(prefix.size());
    std::size_t const last = name.rfind('-');
    std::size_t const middle = last == name.npos ? last : name.rfind('-', last - 1);
    if (middle == name.npos || last == 0)
        return {};
    return {std::string(name.substr(0, middle)),
            std::string(name.substr(middle + 1, last - middle - 1))};
}

/// Takes the lock that a live writer holds. The result is not open if a writer holds the lock, or
/// if locks do not work.
inline file_descriptor lock_of(std::filesystem::path const& path) {
    try {
        file_descriptor file = file_descriptor::open(path, O_RDONLY);
        if (file.try_lock())
            return file;
    } catch (error const&) { // the file was removed, or belongs to another user
    }
    return {};
}

/// Runs `work` if the writer of `path` is dead. No other writer can use `path` meanwhile.
bool if_dead(std::filesystem::path const& path, machine const& writer, auto&& work) {
    machine const here = this_machine();
    if (writer.boot.empty() || here.boot.empty())
        return false;
    if (writer.boot != here.boot)
        return writer.host == here.host && work();
    file_descriptor const lock = lock_of(path);
    return lock.is_open() && work();
}

/// The entries beside `target` whose names are temporary names of `target`.
inline vector<std::filesystem::path> temporaries_of(std::filesystem::path const& target) {
    std::filesystem::path const parent = directory_of(target);
    vector<std::filesystem::path> paths;
    std::error_code problem;
    std::string const prefix = prefix_of(target);
    for (std::filesystem::directory_iterator entry(parent, problem), end; !problem && entry != end;
         entry.increment(problem))
        if (!machine_of(entry->path().filename().string(), prefix).boot.empty())
            paths.push_back(entry->path());
    std::sort(paths.begin(), paths.end());
    return paths;
}

inline bool path_exists(std::filesystem::path const& path) {
    std::error_code problem;
    return std::filesystem::symlink_status(path, problem).type() !=
           std::filesystem::file_type::not_found;
}

inline machine writer_of(std::filesystem::path const& temporary,
                         std::filesystem::path const& target) {
    return machine_of(temporary.filename().string(), prefix_of(target));
}

RESHARD_DECL std::optional<temporary_facts> facts_of_temporary(std::filesystem::path const& path) {
    std::string const name = path.filename().string();
    std::size_t const end = name.rfind(".partial-");
    if (end == name.npos || end < 2 || name.front() != '.')
        return std::nullopt;
    std::string const target = name.substr(1, end - 1);
    machine const writer = machine_of(name, prefix_of(target));
    if (writer.boot.empty())
        return std::nullopt;
    return temporary_facts{target, path.extension() == name_of_old,
                           if_dead(path, writer, [] { return true; })};
}

RESHARD_DECL vector<std::string> remove_stale_files(std::filesystem::path const& target) {
    vector<std::string> removed;
    for (std::filesystem::path const& path : temporaries_of(target)) {
        bool const may_be_all = path.extension() == name_of_old && !path_exists(target);
        if (!may_be_all && if_dead(path, writer_of(path, target), [&] {
                std::error_code problem;
                return std::filesystem::remove_all(path, problem) > 0 && !problem;
            }))
            removed.push_back(path.string());
    }
    return removed;
}

RESHARD_DECL bool finish_replacement(std::filesystem::path const& target) {
    if (target.empty() || path_exists(target))
        return false;
    for (std::filesystem::path const& old : temporaries_of(target)) {
        if (old.extension() != name_of_old)
            continue;
        std::filesystem::path fresh = old;
        fresh.replace_extension();
        std::filesystem::path const& best = path_exists(fresh) ? fresh : old;
        if (if_dead(best, writer_of(old, target), [&] { return try_rename(best, target) == 0; }))
            return true;
    }
    return false;
}

RESHARD_DECL void sync_directory(std::filesystem::path const& path) {
    file_descriptor const directory = file_descriptor::open(path, O_RDONLY | O_DIRECTORY);
    if (uninterrupted([&] { return ::fsync(directory.number()); }) != 0 && errno != EINVAL)
        fail_io(path, "cannot be written");
}

/// Exchanges two names; returns 0 or the system's error.
inline int try_exchange(std::filesystem::path const& a, std::filesystem::path const& b) {
    constexpr unsigned exchange_both = 2; // RENAME_EXCHANGE
    auto const exchange = [&] {
        return ::syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), exchange_both);
    };
    return uninterrupted(exchange) == 0 ? 0 : errno;
}

RESHARD_DECL std::filesystem::path file_meant_by(std::filesystem::path const& path) {
    std::filesystem::path target = path;
    std::error_code ignored;
    for (int links = 0; std::filesystem::is_symlink(target, ignored); ++links) {
        if (links == 40)
            fail(errc::io, path.string(),
                 ": cannot be written, because its symbolic links form a cycle, or a chain of more "
                 "than 40");
        target = target.parent_path() / std::filesystem::read_symlink(target, ignored);
    }
    auto const kind = std::filesystem::status(target, ignored).type();
    if (kind == std::filesystem::file_type::directory)
        fail(errc::io, path.string(), ": cannot be written, because it is a directory");
    if (std::filesystem::exists(std::filesystem::file_status(kind)) &&
        kind != std::filesystem::file_type::regular)
        fail(errc::io, path.string(),
             ": cannot be written, because it exists and is not a regular file");
    check_parent(target);
    return target;
}

RESHARD_DECL complete_file::complete_file(std::filesystem::path const& target, std::uint64_t bytes,
                                          std::function<void(output_file&)> const& write)
    : target_(file_meant_by(target)) {
    try {
        remove_stale_files(target_);
        make_beside();
        output_file file = output_file::open(beside_, bytes);
        write(file);
        file.sync();
    } catch (error const& problem) {
        remove_beside();
        fail(problem.code(), about_target(problem.what()));
    } catch (...) {
        remove_beside();
        throw;
    }
}

RESHARD_DECL complete_file::complete_file(std::filesystem::path const& target,
                                          std::string_view text)
    : complete_file(target, text.size(),
                    [&](output_file& file) { file.write(0, std::as_bytes(std::span(text))); }) {}

RESHARD_DECL void complete_file::put() {
    if (int const problem = try_rename(beside_, target_))
        fail_io(target_, "cannot be put in place", problem);
}

RESHARD_DECL void complete_file::put(bool replace) { put_file_in_place(beside_, target_, replace); }

RESHARD_DECL void complete_file::put_for_now() {
    std::error_code ignored;
    if (std::filesystem::exists(target_, ignored)) {
        old_ = file_descriptor::open(target_, O_RDONLY);
        static_cast<void>(old_.try_lock()); // another writer may have locked it
    }
    int const problem = try_exchange(beside_, target_);
    is_exchanged_ = problem == 0;
    is_new_ = problem == ENOENT;
    if (!is_exchanged_)
        put();
}

RESHARD_DECL void complete_file::take_back() noexcept {
    std::error_code ignored;
    if (is_exchanged_)
        try_exchange(beside_, target_);
    else if (is_new_)
        std::filesystem::remove(target_, ignored);
}

RESHARD_DECL void complete_file::make_beside() {
    beside_ = target_;
    beside_.replace_filename(temporary_name(target_));
    lock_ = create_locked(beside_, target_, [&] { file_descriptor::create_empty(beside_); });
    struct stat old = {};
    if (::stat(target_.c_str(), &old) == 0)
        static_cast<void>(::fchmod(lock_.number(), old.st_mode & 07777));
}

RESHARD_DECL void complete_file::remove_beside() noexcept {
    std::error_code ignored;
    if (!beside_.empty())
        std::filesystem::remove(beside_, ignored);
}

RESHARD_DECL std::string complete_file::about_target(std::string const& text) const {
    std::string const name = beside_.string();
    return target_.string() +
           (text.starts_with(name) ? text.substr(name.size()) : ": cannot be written: " + text);
}

RESHARD_DECL void put_all(std::deque<complete_file>& files) {
    std::size_t count = 0; // files in place
    try {
        for (; count < files.size(); ++count)
            if (count + 1 < files.size())
                files[count].put_for_now();
            else
                files[count].put();
    } catch (...) {
        while (count > 0)
            files[--count].take_back();
        throw;
    }
}

RESHARD_DECL void write_whole_files(std::span<whole_file const> files) {
    std::deque<complete_file> complete;
    for (whole_file const& file : files)
        complete.emplace_back(file.target, file.text);
    put_all(complete);
    for (complete_file const& file : complete)
        sync_directory(directory_of(file.target()));
}

RESHARD_DECL void write_whole_file(std::filesystem::path const& target, std::string_view text) {
    whole_file const file{target, std::string(text)};
    write_whole_files({&file, 1});
}

/// Renames a file unless the new name exists; returns 0 or the system's error.
inline int try_rename_to_new(std::filesystem::path const& source,
                             std::filesystem::path const& target) {
    constexpr unsigned no_replace = 1; // RENAME_NOREPLACE
    auto const rename = [&] {
        return ::syscall(SYS_renameat2, AT_FDCWD, source.c_str(), AT_FDCWD, target.c_str(),
                         no_replace);
    };
    if (uninterrupted(rename) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    std::error_code ignored; // without this feature, another process may interfere
    return std::filesystem::exists(target, ignored) ? EEXIST : try_rename(source, target);
}

RESHARD_DECL void put_file_in_place(std::filesystem::path const& fresh,
                                    std::filesystem::path const& target, bool replace) {
    int const problem = replace ? try_rename(fresh, target) : try_rename_to_new(fresh, target);
    if (problem == EEXIST)
        fail(errc::already_exists, target.string(),
             ": another process has created it meanwhile; give another target");
    if (problem != 0)
        fail_io(target, "cannot be put in place", problem);
    sync_directory(directory_of(target));
}

RESHARD_DECL void exchange_in_steps(std::filesystem::path const& fresh,
                                    std::filesystem::path const& target) {
    std::filesystem::path aside = fresh;
    aside += name_of_old;
    if (int const problem = try_rename(target, aside))
        fail_io(target, "cannot be replaced", problem);
    if (int const problem = try_rename(fresh, target)) {
        bool const is_back = try_rename(aside, target) == 0;
        fail_io(target,
                is_back ? "cannot be replaced" : "cannot be replaced; it is now " + aside.string(),
                problem);
    }
    try_rename(aside, fresh);
}

RESHARD_DECL void atomic_replace(std::filesystem::path const& fresh,
                                 std::filesystem::path const& target, bool replace) {
    sync_directory(fresh);
    int problem = try_rename(fresh, target);
    if (problem == 0)
        return;
    if (problem != EEXIST && problem != ENOTEMPTY && problem != ENOTDIR)
        fail_io(target, "cannot be put in place", problem);
    if (!replace)
        fail(errc::already_exists, target.string(),
             ": another process has created it meanwhile; give another target");
    problem = try_exchange(fresh, target);
    if (problem == EINVAL || problem == ENOSYS)
        exchange_in_steps(fresh, target);
    else if (problem != 0)
        fail_io(target, "cannot be replaced", problem);
}

} // namespace reshard::detail

#endif
