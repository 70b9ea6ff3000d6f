// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_PLAN_FILE_HPP
#define RESHARD_STORAGE_PLAN_FILE_HPP

#include <reshard/core/config.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/plan/plan.hpp>
#include <reshard/plan/planned_job.hpp>

#include <cstdint>
#include <filesystem>

/// \file
/// Stores plans in files. A stored plan is valid only for its own layouts and program.

namespace reshard {

/// Writes a plan, with the digest of its problem. An existing file is replaced.
///
/// \param digest the result of `plan_digest`
/// \throws error with errc::io, naming the file, which is then unchanged
RESHARD_DECL void write_plan(std::filesystem::path const& path, std::uint64_t digest,
                             plan const& plan);

/// Reads a plan that `write_plan` wrote.
///
/// \param digest the digest of the problem that needs the plan
/// \throws error with errc::unsupported for a file of another version, errc::corrupt_file for a
///         truncated or altered file, and errc::bad_layout for the plan of another problem, naming
///         the file and both numbers; errc::missing_file or errc::io if the file cannot be read
RESHARD_DECL plan read_plan(std::filesystem::path const& path, std::uint64_t digest);

/// Reads the plan of this rank from its own file. Every rank must have a file for the same problem.
///
/// \param structure the result of `structure_digest`; ranks compare it
/// \par Collective every rank of the group, in the same order, each with its own file
/// \throws error on every rank: of the lowest failing rank, as `read_plan`; errc::ranks_disagree if
///         ranks have different structures or call different functions
plan read_plan(group auto const& world, std::filesystem::path const& path, std::uint64_t structure,
               detail::plan_scope const& scope) {
    plan plan;
    detail::local_error const problem =
        detail::attempt([&] { plan = read_plan(path, detail::plan_digest(structure, scope)); });
    detail::agree_to_run(world, "read_plan", 0, problem);
    detail::agree_on_digest(world, "a structure", structure);
    return plan;
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/plan_file.ipp>
#endif

#endif
