// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_STALE_FILES_IPP
#define RESHARD_STORAGE_IMPL_STALE_FILES_IPP

#include <reshard/storage/stale_files.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/os/file_bytes.hpp>
#include <reshard/os/process.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
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

} // namespace reshard::detail

#endif
