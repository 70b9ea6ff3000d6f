// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_PLAN_FILE_HPP
#define RESHARD_STORAGE_PLAN_FILE_HPP

#include <reshard/format/text_file.hpp>
#include <reshard/group/agree_digest.hpp>
#include <reshard/plan/kept_plan.hpp>
#include <reshard/plan/plan_digest.hpp>
#include <reshard/storage/write_whole_file.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

/// \file
/// Plans in files: read again only for what they were made from.

namespace reshard {

/// Writes a plan, with the digest of what it was made from; a file that is there is replaced.
///
/// \param digest what `plan_digest` returned
/// \throws error with errc::io, naming the file; then what is there is what it was
inline void write_plan(std::filesystem::path const& path, std::uint64_t digest, plan const& whole) {
    write_whole_file(path, to_bytes(kept_plan{digest, whole}));
}

/// The plan that `write_plan` wrote.
///
/// \param digest of what a plan is needed for now
/// \throws error that names the file and both numbers: with errc::unsupported for a file of another
///         version, with errc::corrupt_file for one that is cut off or altered, and
///         with errc::bad_layout for the plan of something else. With
///         errc::missing_file or errc::io where the file cannot be read
inline plan read_plan(std::filesystem::path const& path, std::uint64_t digest) {
    std::string const bytes = read_text_file(path);
    kept_plan kept;
    try {
        kept = from_bytes<kept_plan>(bytes);
    } catch (error const& problem) {
        fail(problem.code(), path.string() + ": " + problem.what());
    }
    if (kept.digest != digest)
        fail(errc::bad_layout, path.string() + ": this is the plan of other layouts, of another " +
                                   "program or of other options, with digest " +
                                   std::to_string(kept.digest) + "; those at hand have digest " +
                                   std::to_string(digest) + "; plan again");
    return std::move(kept.whole);
}

/// The plan of this rank from its own file, where every rank finds the right one.
///
/// \param structure what `structure_digest` returned: compared between ranks
/// \par Collective every rank of the group, in the same order, each with a file of its own
/// \throws error on every rank alike: the lowest failing rank's, as `read_plan`; else with
///         errc::ranks_disagree where ranks have different structures or do something else
template <group Group>
plan read_plan(Group const& world, std::filesystem::path const& path, std::uint64_t structure,
               plan_scope const& scope) {
    plan whole;
    local_error const problem =
        attempt([&] { whole = read_plan(path, plan_digest(structure, scope)); });
    agree_to_run(world, "read_plan", 0, problem);
    agree_on_digest(world, "a structure", structure);
    return whole;
}

} // namespace reshard

#endif
