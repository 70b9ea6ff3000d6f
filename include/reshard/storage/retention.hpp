// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_RETENTION_HPP
#define RESHARD_STORAGE_RETENTION_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/storage/checkpoint_listing.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

/// \file
/// Decides which checkpoints of a directory may be deleted, and deletes them.

namespace reshard {

/// Rules that select the checkpoints of a directory to keep. Without any rule, all checkpoints
/// stay.
struct retention {
    std::optional<index_t> last = {}; ///< how many of the newest saves stay
    std::optional<index_t> best = {}; ///< how many of the best saves stay, by the number `by`
                                      ///< in their records
    std::string by = {};
    bool highest = false; ///< if true, higher numbers are better, else lower numbers

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.last, self.best, self.by, self.highest);
    }
    static constexpr std::string_view member_names[] = {"last", "best", "by", "highest"};
};

namespace detail {

/// The decision on a save.
struct retention_verdict {
    bool goes = false;
    std::string why; ///< a sentence without its full stop

    bool operator==(retention_verdict const&) const = default;
};

/// Decides which saves are deleted. The decisions are in the order of the saves.
///
/// A save stays if it is damaged, foreign, in progress, pinned, or the base of a save in progress.
/// A complete save stays if a rule keeps it, if a save that stays needs it, or if its directory has
/// foreign files that may hold tensors. The newest save stays if no other save would stay. It also
/// stays if a save is in progress, which may need it. A save without the number `by` is not among
/// the best. Of saves with equal numbers, the newer save is better.
///
/// \throws error with errc::usage for a negative number, or if no record has the number `by`
RESHARD_DECL vector<retention_verdict> judge(vector<listed_save> const& saves,
                                             retention const& rules);

/// A save, and the decision on it.
struct retained_save {
    std::string name;
    bool goes = false; ///< the save may be deleted, or is deleted
    std::string why;
    std::string state; ///< `complete`, `damaged`, `in progress`, `leftover` or `foreign`
    std::string save;  ///< its id
    std::uint64_t bytes = 0;
    std::int64_t completed = 0; ///< seconds since 1970; 0: unknown
    bool pinned = false;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.name, self.goes, self.why, self.state, self.save, self.bytes, self.completed,
              self.pinned);
    }
};

/// Deletes a save, unless another save has replaced it.
///
/// First locks the save, renames it to a temporary name, and flushes the new name to the disk. If
/// the machine stops, either the whole save exists, or the next save with this name removes the
/// rest.
///
/// \throws error with errc::io; with errc::already_exists if another save has this name
RESHARD_DECL void delete_save(std::filesystem::path const& directory, listed_save const& save);

/// The same as `retain`, for one process.
RESHARD_DECL vector<retained_save> retain_here(std::filesystem::path const& directory,
                                               retention const& rules, bool do_delete);

} // namespace detail

/// The saves in a directory, sorted by name, with the decisions of `retain`.
using retention_report = vector<detail::retained_save>;

/// Reports which checkpoints of a directory may be deleted, and deletes them if `do_delete` is
/// true.
///
/// A directory gets a temporary name before it is deleted, so that no half-deleted checkpoint
/// exists. Files beside its tensors, and files of writers that died, are deleted, too. A save stays
/// while another process writes a delta of it, if the process shares the file system and its locks.
/// The first rank does all the work.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank: errc::usage for invalid rules; errc::missing_file; errc::io if an
///         entry could not be deleted; other entries may then be deleted
retention_report retain(group auto const& world, std::filesystem::path const& directory,
                        retention const& rules, bool do_delete = false) {
    detail::compared_values fingerprint("rules", rules);
    fingerprint.add("do_delete", do_delete);
    detail::agree_to_run(world, "retain in " + directory.string(), fingerprint);
    retention_report report;
    agree_on(world, [&] {
        if (world.rank() == 0)
            report = detail::retain_here(directory, rules, do_delete);
    });
    return detail::gather_values(world, report).front();
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/retention.ipp>
#endif

#endif
