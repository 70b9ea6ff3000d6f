// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_SHARED_SAVE_IPP
#define RESHARD_STORAGE_IMPL_SHARED_SAVE_IPP

#include <reshard/storage/shared_save.hpp>

#include <reshard/format/text_file.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/os/atomic_replace.hpp>
#include <reshard/os/file_bytes.hpp>

#include <fcntl.h>

#include <cstdint>
#include <optional>
#include <system_error>

namespace reshard::detail {

/// The error of a process.
struct failure_note {
    std::uint64_t code = 0;
    std::string problem;

    static constexpr void members(auto& self, auto&& visit) { visit(self.code, self.problem); }
};

inline std::filesystem::path note_path(shared_save const& save, int rank) {
    return save.temporary / (".written-" + std::to_string(rank));
}

inline std::filesystem::path failure_path(shared_save const& save, int rank) {
    return save.temporary / (".failed-" + std::to_string(rank));
}

/// The path of the file that exists while one process completes the save.
inline std::filesystem::path claim_path(shared_save const& save) {
    return save.temporary / ".completing";
}

RESHARD_DECL void publish_runs(shared_save const& save, vector<written_run> const& runs) {
    put_file(note_path(save, save.rank), content_bytes(runs));
}

RESHARD_DECL bool publish_failure(shared_save const& save, errc code, std::string const& text) {
    auto const path = failure_path(save, save.rank);
    failure_note const note{static_cast<std::uint64_t>(code), text};
    if (!attempt([&] { put_file(path, content_bytes(note)); }))
        return true;
    attempt([&] { file_descriptor::open(path.string(), O_WRONLY | O_CREAT); });
    return false;
}

inline bool is_written(std::filesystem::path const& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

/// \throws error of the lowest process that failed
inline void check_failures(shared_save const& save) {
    for (int rank = 0; rank < save.size; ++rank) {
        std::filesystem::path const path = failure_path(save, rank);
        if (!is_written(path))
            continue;
        std::optional<failure_note> note;
        if (attempt([&] {
                note = content_from<failure_note>(read_text_file(path), "error of another rank");
            }))
            fail(errc::io, save.target.string(), ": rank ", rank,
                 " could not write its part; see the error of that rank");
        fail(static_cast<errc>(note->code), note->problem);
    }
}

inline bool has_all_notes(shared_save const& save) {
    for (int rank = 0; rank < save.size; ++rank)
        if (!is_written(note_path(save, rank)))
            return false;
    return true;
}

/// \pre this process has the claim; else another process could remove these files
inline runs_by_rank runs_of_all(shared_save const& save) {
    runs_by_rank runs;
    for (int rank = 0; rank < save.size; ++rank)
        runs.push_back(content_from<vector<written_run>>(read_text_file(note_path(save, rank)),
                                                         "note of another rank"));
    return runs;
}

/// Removes the claim on a save that another process has completed. The directory may already have
/// the target's name.
inline void drop_claim(shared_save const& save) {
    std::error_code ignored;
    std::filesystem::remove(claim_path(save), ignored);
    if (is_at(save.seen, save.target.string()))
        std::filesystem::remove(save.target / claim_path(save).filename(), ignored);
}

/// Creates the file that claims a save. False if the file exists, or if the temporary directory
/// does not exist any more.
///
/// \throws error with errc::io if this fails repeatedly, since all processes would wait for ever
inline bool create_claim(shared_save const& save) {
    local_error problem;
    for (int tries = 0; tries < 3; ++tries) {
        bool is_made = false;
        problem =
            attempt([&] { is_made = file_descriptor::create_empty(claim_path(save).string()); });
        if (!problem || !is_at(save.seen, save.temporary.string()))
            return is_made;
    }
    throw error(*problem);
}

RESHARD_DECL bool claim(shared_save const& save) {
    std::string const directory = save.temporary.string();
    if (!is_at(save.seen, directory) || !create_claim(save))
        return false; // another process has the claim, or has completed the save
    if (is_at(save.seen, directory) && has_all_notes(save))
        return true;
    drop_claim(save);
    return false;
}

/// Removes a note or a claim from the directory of a save.
inline void remove_own(shared_save const& save, std::filesystem::path const& path) {
    std::error_code problem;
    std::filesystem::remove(path, problem);
    if (problem)
        fail_io(save.target, "cannot be completed, because " + path.string() + " cannot be removed",
                problem.value());
}

RESHARD_DECL void remove_claim(shared_save const& save) { remove_own(save, claim_path(save)); }

RESHARD_DECL void remove_notes(shared_save const& save) {
    for (int rank = 0; rank < save.size; ++rank)
        remove_own(save, note_path(save, rank));
}

RESHARD_DECL void complete_if_ready(shared_save const& save,
                                    std::function<void(runs_by_rank const&)> const& complete) {
    if (is_written(claim_path(save)))
        return;
    check_failures(save);
    if (!has_all_notes(save) || !claim(save))
        return;
    local_error const failed = attempt([&] {
        check_failures(save); // an earlier claimant may have failed
        complete(runs_of_all(save));
    });
    if (!failed)
        return;
    if (!is_at(save.seen, save.target.string())) {
        std::error_code ignored;
        publish_failure(save, failed->code(), failed->what());
        std::filesystem::remove(claim_path(save), ignored);
    }
    throw error(*failed);
}

} // namespace reshard::detail

#endif
