// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_CHECKPOINT_LISTING_IPP
#define RESHARD_STORAGE_IMPL_CHECKPOINT_LISTING_IPP

#include <reshard/storage/checkpoint_listing.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/checkpoint.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/os/atomic_replace.hpp>
#include <reshard/storage/replacement.hpp>

#include <algorithm>
#include <cstdint>
#include <system_error>

namespace reshard::detail {

/// The bytes of all files in a directory that this process can see.
inline std::uint64_t bytes_in_directory(std::filesystem::path const& directory) {
    std::uint64_t bytes = 0;
    std::error_code problem;
    for (std::filesystem::recursive_directory_iterator entry(directory, problem), end;
         !problem && entry != end; entry.increment(problem)) {
        std::error_code unknown;
        std::uint64_t const size = entry->file_size(unknown);
        bytes += unknown ? 0 : size;
    }
    return bytes;
}

/// Finds out whether a directory without a record is a checkpoint of another library, an unfinished
/// save of this library, or neither.
inline void judge_without_record(listed_save& save, std::filesystem::path const& path) {
    save.state = completeness::foreign;
    try {
        open_checkpoint(path);
        save.problem = words("it has no ", save_record_name, ", so reshard did not write it");
    } catch (error const& problem) {
        if (problem.code() == errc::unsupported)
            return;
        save.state = completeness::damaged;
        save.problem = problem.what();
    }
}

inline void judge_by_record(listed_save& save, std::filesystem::path const& path) {
    try {
        save.record = read_save_record(*files_of_system(), path / save_record_name);
        open_checkpoint(path);
        if (auto const stranger = stranger_in(path))
            save.stranger = stranger->filename().string();
    } catch (error const& problem) {
        save.state = completeness::damaged;
        save.problem = problem.what();
    }
}

/// True if a temporary directory is needed: `finish_replacement` can complete its interrupted
/// replacement.
inline bool may_be_needed(std::filesystem::path const& path, temporary_facts const& temporary) {
    std::error_code problem;
    std::filesystem::path old = path;
    old += name_of_old;
    return !std::filesystem::exists(path.parent_path() / temporary.target, problem) &&
           (temporary.is_old || std::filesystem::exists(old, problem));
}

inline listed_save look_at_directory(std::filesystem::path const& path) {
    listed_save save{path.filename().string()};
    save.bytes = bytes_in_directory(path);
    if (auto const temporary = facts_of_temporary(path)) {
        save.target = temporary->target;
        save.state = temporary->is_dead && !may_be_needed(path, *temporary)
                         ? completeness::leftover
                         : completeness::in_progress;
        return save;
    }
    std::error_code problem;
    save.is_pinned = std::filesystem::exists(path / pin_name, problem);
    if (std::filesystem::exists(path / save_record_name, problem))
        judge_by_record(save, path);
    else
        judge_without_record(save, path);
    return save;
}

/// The subdirectories of a directory, without links.
inline vector<std::filesystem::path> directories_in(std::filesystem::path const& directory) {
    std::error_code problem;
    if (!std::filesystem::is_directory(directory, problem))
        fail(errc::missing_file, directory.string(), ": no such directory");
    vector<std::filesystem::path> paths = files_of_system()->list(directory);
    erase_if(paths, [](std::filesystem::path const& path) {
        std::error_code gone;
        return std::filesystem::symlink_status(path, gone).type() !=
               std::filesystem::file_type::directory;
    });
    return paths;
}

RESHARD_DECL vector<listed_save> saves_in(std::filesystem::path const& directory) {
    vector<listed_save> saves;
    for (std::filesystem::path const& path : directories_in(directory))
        saves.push_back(look_at_directory(path));
    return saves;
}

inline bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

/// Removes and returns the digits at the front of a text, or its first character if that is not a
/// digit.
inline std::string_view take_word(std::string_view& text) {
    std::size_t end = 0;
    while (end < text.size() && is_digit(text[end]))
        ++end;
    std::string_view const word = text.substr(0, std::max<std::size_t>(1, end));
    text.remove_prefix(word.size());
    return word;
}

/// True if `a` sorts before `b`. Numbers in names are compared as numbers: `step_90` is before
/// `step_100`.
inline bool is_name_before(std::string_view a, std::string_view b) {
    auto const key = [](std::string_view word) {
        bool const is_number = is_digit(word.front());
        word.remove_prefix(is_number ? std::min(word.find_first_not_of('0'), word.size()) : 0);
        return std::pair(is_number ? word.size() : 0, word);
    };
    std::string_view x = a, y = b;
    while (!x.empty() && !y.empty()) {
        auto const left = key(take_word(x)), right = key(take_word(y));
        if (left != right)
            return left < right;
    }
    return x.empty() == y.empty() ? a < b : x.empty();
}

/// True if `a` was completed before `b`, by the times in their records. If the times are equal, the
/// names decide (see `is_name_before`).
inline bool is_older(listed_save const& a, listed_save const& b) {
    std::int64_t const left = a.record.facts.completed, right = b.record.facts.completed;
    return left != right ? left < right : is_name_before(a.name, b.name);
}

RESHARD_DECL vector<std::size_t> newest_first(vector<listed_save> const& saves) {
    vector<std::size_t> places;
    for (std::size_t i = 0; i < saves.size(); ++i)
        if (saves[i].state == completeness::complete)
            places.push_back(i);
    std::sort(places.begin(), places.end(),
              [&](std::size_t a, std::size_t b) { return is_older(saves[b], saves[a]); });
    return places;
}

/// The reason why a listed directory is skipped.
inline std::string reason_against(listed_save const& save) {
    switch (save.state) {
    case completeness::in_progress: return "a save of '" + save.target + "' is in progress";
    case completeness::leftover: return "a writer of '" + save.target + "' died and left it";
    default: return save.problem;
    }
}

[[noreturn]] inline void fail_without_newest(std::filesystem::path const& directory,
                                             vector<std::string> const& matches) {
    constexpr std::size_t most = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, matches.size()); ++i)
        text += (i ? "; " : "") + matches[i];
    if (matches.size() > most)
        text += "; and " + std::to_string(matches.size() - most) + " more";
    std::error_code problem;
    bool const is_one = std::filesystem::exists(directory / save_record_name, problem);
    fail(errc::missing_file, directory.string(), ": this directory contains no complete checkpoint",
         is_one ? "; it is a checkpoint itself"
                : (text.empty() ? ", and no incomplete one" : "; found: " + text));
}

/// Completes the replacements of writers that died.
inline void finish_replacements(std::filesystem::path const& directory) {
    for (std::filesystem::path const& path : directories_in(directory))
        if (auto const temporary = facts_of_temporary(path); temporary && temporary->is_old)
            finish_replacement(directory / temporary->target);
}

RESHARD_DECL newest_save newest_in(std::filesystem::path const& directory) {
    finish_replacements(directory);
    auto const saves = saves_in(directory);
    newest_save newest;
    for (listed_save const& save : saves)
        if (std::string const reason = reason_against(save); !reason.empty())
            newest.passed_over.push_back((directory / save.name).string() +
                                         " is passed over: " + reason);
    auto const order = newest_first(saves);
    if (order.empty())
        fail_without_newest(directory, newest.passed_over);
    newest.name = saves[order.front()].name;
    return newest;
}

} // namespace reshard::detail

namespace reshard {

RESHARD_DECL checkpoint open_checkpoint(mpi_group const& world,
                                        std::filesystem::path const& directory, latest newest,
                                        open_options const& options) {
    return open_checkpoint<mpi_group>(world, directory, newest, options);
}

} // namespace reshard

#endif
