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

/// Rules for the checkpoints of a directory that stay. Without any rule, all of them stay.
struct retention {
    std::optional<index_t> last = {}; ///< the number of newest saves
    std::optional<index_t> best = {}; ///< the number of best saves by the number `by` of their
                                      ///< records
    std::string by = {};
    bool highest = false; ///< if true, the highest numbers are the best, else the lowest

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

/// The decisions on the saves, in their order.
///
/// A save that is damaged, foreign, in progress, pinned or the base of one in progress stays. A
/// complete one stays if a rule keeps it, if a save that stays needs it, or if it has foreign files
/// that may hold tensors. The newest stays in any case if no other would stay, or if a save is in
/// progress, since that may need it. A save without the number is not among the best; of two equal
/// numbers, the newer save is better.
///
/// \throws error with errc::usage for a number below 0, or if no record has the number `by`
RESHARD_DECL vector<retention_verdict> judge(vector<listed_save> const& saves,
                                             retention const& rules);

/// A save, and the decision on it.
struct retained_save {
    std::string name;
    bool goes = false; ///< or is deleted already
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

/// Deletes a save, unless another save has its name by now.
///
/// Before any of its files is deleted, the save is locked and gets a temporary name, and the new
/// name is flushed to the disk. A machine that stops leaves either the save, or files that the next
/// save with this name removes.
///
/// \throws error with errc::io; with errc::already_exists if another save has the name
RESHARD_DECL void delete_save(std::filesystem::path const& directory, listed_save const& save);

/// The same as `retain`, for one process.
RESHARD_DECL vector<retained_save> retain_here(std::filesystem::path const& directory,
                                               retention const& rules, bool do_delete);

} // namespace detail

/// The saves that `retain` found in a directory, sorted by name, with the decision on each.
using retention_report = vector<detail::retained_save>;

/// Reports which checkpoints of a directory may be deleted, and deletes them if `do_delete` is
/// true.
///
/// A directory gets a temporary name before it is deleted, so that a half-deleted one is never a
/// checkpoint. Its files that hold no tensors are deleted, too. So are the files of writers that
/// died. A save stays while any process that shares the file system and its locks writes a delta of
/// it. The first rank does all the work.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank: errc::usage for invalid rules; errc::missing_file; errc::io if an
///         entry could not be deleted, then others may have been deleted
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
