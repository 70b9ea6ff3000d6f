// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_REPLACEMENT_IPP
#define RESHARD_STORAGE_IMPL_REPLACEMENT_IPP

#include <reshard/core/vector.hpp>
#include <reshard/storage/replacement.hpp>

#include <reshard/format/checkpoint.hpp>
#include <reshard/format/dcp/dcp.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/format/written_formats.hpp>
#include <reshard/os/atomic_replace.hpp>
#include <reshard/os/file_bytes.hpp>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <system_error>

namespace reshard::detail {

RESHARD_DECL std::filesystem::path resolved(std::filesystem::path const& target) {
    std::error_code problem;
    std::filesystem::path const name = target.filename();
    if (name != "." && name != ".." && !std::filesystem::is_symlink(target, problem))
        return target;
    auto const canonical = std::filesystem::canonical(target, problem);
    if (problem)
        fail(errc::io, target.string(), ": is a dangling symbolic link: ", problem.message(),
             "; remove it, or give another target");
    return canonical;
}

/// The names of a checkpoint's files in a directory: the record, the files that it lists, and the
/// index. Without a record, the files that the checkpoint is read from.
inline std::set<std::string> names_of_checkpoint(std::filesystem::path const& directory) {
    std::error_code problem;
    std::filesystem::path const record = directory / save_record_name;
    if (!std::filesystem::exists(record, problem))
        return names_in(open_checkpoint(directory));
    std::set<std::string> names{std::string(save_record_name), std::string(hf_index_name)};
    save_record const written = read_save_record(*files_of_system(), record);
    for (recorded_file const& file : files_on_disk(written))
        names.insert(file.name);
    return names;
}

/// The result of `read`; an empty result if it fails for a reason other than errc::io.
auto understood(auto&& read) -> decltype(read()) {
    try {
        return read();
    } catch (error const& problem) {
        if (problem.code() == errc::io)
            throw;
        return {};
    }
}

/// As `names_of_checkpoint`; empty if the directory has no readable checkpoint.
inline std::set<std::string> names_if_any(std::filesystem::path const& directory) {
    return understood([&] { return names_of_checkpoint(directory); });
}

[[noreturn]] inline void refuse_replacement(std::filesystem::path const& target,
                                            std::filesystem::path const& lost) {
    fail(errc::already_exists, target.string(), ": is not replaced, because ", lost.string(),
         " is not part of the checkpoint there and would be lost; move it away, or give "
         "another target");
}

/// The entries of a directory beside its checkpoint, sorted; all entries without a checkpoint.
inline vector<std::filesystem::path> beside_checkpoint(std::filesystem::path const& directory,
                                                       std::set<std::string> const& listed) {
    vector<std::filesystem::path> beside;
    for (auto const& entry : std::filesystem::directory_iterator(directory))
        if (!listed.contains(entry.path().filename().string()))
            beside.push_back(entry.path());
    std::sort(beside.begin(), beside.end());
    return beside;
}

inline bool is_side_file(std::filesystem::path const& path) {
    return std::filesystem::is_regular_file(path) && !may_hold_tensors(path.filename().string());
}

RESHARD_DECL vector<std::filesystem::path> side_files(checkpoint_metadata const& checkpoint) {
    if (!std::filesystem::is_directory(checkpoint.path))
        return {};
    auto files = beside_checkpoint(checkpoint.path, names_in(checkpoint));
    erase_if(files, [](std::filesystem::path const& path) {
        return !is_side_file(path) || path.filename().string().starts_with('.') ||
               path.filename() == pin_name;
    });
    return files;
}

RESHARD_DECL vector<std::string> side_directories(checkpoint_metadata const& checkpoint) {
    vector<std::string> names;
    if (!std::filesystem::is_directory(checkpoint.path))
        return names;
    for (std::filesystem::path const& path :
         beside_checkpoint(checkpoint.path, names_in(checkpoint))) {
        bool const has_tensors = std::ranges::any_of(checkpoint.files, [&](auto const& file) {
            return file.path.string().starts_with((path / "").string());
        });
        if (std::filesystem::is_directory(path) && !has_tensors &&
            !path.filename().string().starts_with('.'))
            names.push_back(path.filename().string());
    }
    return names;
}

/// The first of the entries `beside` that is not a file without tensors. Without a checkpoint,
/// the first entry.
inline std::optional<std::filesystem::path>
stranger_among(vector<std::filesystem::path> const& beside, bool has_checkpoint) {
    for (std::filesystem::path const& path : beside)
        if (!has_checkpoint || !is_side_file(path))
            return path;
    return std::nullopt;
}

RESHARD_DECL std::optional<std::filesystem::path>
stranger_in(std::filesystem::path const& directory) {
    std::set<std::string> const listed = names_if_any(directory);
    return stranger_among(beside_checkpoint(directory, listed), !listed.empty());
}

RESHARD_DECL vector<std::filesystem::path> files_to_keep(std::filesystem::path const& target) {
    if (!std::filesystem::is_directory(target))
        return {};
    std::set<std::string> const listed = names_if_any(target);
    auto const beside = beside_checkpoint(target, listed);
    if (auto const lost = stranger_among(beside, !listed.empty()))
        refuse_replacement(target, *lost);
    return beside;
}

/// The part of a save's record before the tensors; std::nullopt without a record.
inline std::optional<save_record> head_in(std::filesystem::path const& directory) {
    std::error_code problem;
    if (!std::filesystem::exists(directory / save_record_name, problem))
        return std::nullopt;
    return read_record_head(*files_of_system(), directory / save_record_name);
}

/// The ids of the saves that the save in a directory needs; empty if the save is damaged.
inline vector<std::string> needs_of(std::filesystem::path const& directory) {
    auto const head = understood([&] { return head_in(directory); });
    return head ? head->facts.needs : vector<std::string>();
}

RESHARD_DECL void check_not_needed(std::filesystem::path const& target) {
    auto const own = head_in(target);
    if (!own)
        return;
    for (std::filesystem::path const& beside : files_of_system()->list(target / "..")) {
        if (beside.filename() == target.filename())
            continue;
        auto const needs = needs_of(beside);
        if (std::find(needs.begin(), needs.end(), own->save) != needs.end())
            fail(errc::already_exists, target.string(), ": is not replaced, because ",
                 (target.parent_path() / beside.filename()).string(),
                 " is a delta that needs it; convert the delta to a whole checkpoint first, or "
                 "give another target");
    }
}

/// True if all tensor files in a directory are shards of one checkpoint.
inline bool is_sharded_checkpoint(std::filesystem::path const& directory) {
    try {
        return open_checkpoint(directory).format == "sharded_safetensors";
    } catch (error const&) { // another file then does no harm
        return false;
    }
}

RESHARD_DECL void check_replaced_file(std::filesystem::path const& target) {
    bool const is_known =
        std::ranges::any_of(names_of_written_formats(), [&](std::string const& name) {
            return written_format_of(name).is_file_name(target.string());
        });
    if (!is_known)
        refuse_replacement(target, target);
    std::filesystem::path const parent = directory_of(target);
    if (names_if_any(parent).contains(target.filename().string()))
        fail(errc::already_exists, target.string(), ": is a file of the checkpoint ",
             parent.string(), "; give that directory as the target, or another name");
}

/// The endings of a single file in a format, such as `.pt (or .pth, .bin, .ckpt)`.
inline std::string endings_of(written_format const& format) {
    std::string others;
    for (std::string_view const ending : format.other_endings)
        if (!ending.empty())
            others += (others.empty() ? " (or " : ", ") + std::string(ending);
    return std::string(format.ending) + others + (others.empty() ? "" : ")");
}

RESHARD_DECL void check_file_target(std::filesystem::path const& target,
                                    written_format const& format) {
    std::error_code ignored;
    if (std::filesystem::is_directory(target, ignored))
        fail(errc::usage, target.string(),
             ": is a directory, and a file cannot replace it; give the name of a file");
    if (!format.is_file_name(target.extension().string()))
        fail(errc::usage, target.string(), ": does not end with ", endings_of(format),
             "; add the ending, which readers need");
    std::filesystem::path const parent = directory_of(target);
    if (!format.plan && !std::filesystem::exists(target, ignored) && is_sharded_checkpoint(parent))
        fail(errc::already_exists, target.string(),
             ": would be taken for a file of the checkpoint ", parent.string(),
             ", which could no longer be opened; give another directory");
}

RESHARD_DECL void check_no_mount_point(std::filesystem::path const& target) {
    struct stat own {
    }, outer{};
    if (::stat(target.c_str(), &own) != 0 || ::stat((target / "..").c_str(), &outer) != 0)
        fail_io(target, "cannot be examined");
    if (own.st_dev != outer.st_dev)
        fail(errc::io, target.string(),
             ": is a mount point, and a directory cannot replace it; give a directory in it");
}

} // namespace reshard::detail

#endif
