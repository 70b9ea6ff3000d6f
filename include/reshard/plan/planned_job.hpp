// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_PLANNED_JOB_HPP
#define RESHARD_PLAN_PLANNED_JOB_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/plan/options.hpp>
#include <reshard/plan/plan.hpp>
#include <reshard/plan/problem.hpp>

#include <cstdint>
#include <optional>

/// \file
/// A plan that owns its problem, with digests of both.

namespace reshard::detail {

struct conversion_kernels;

/// A plan and its problem. The members refer to each other, so an object never moves.
///
/// If a side was looked up in a directory, its layout has only the shards of one process.
struct planned_job {
    planned_job() = default;
    planned_job(planned_job const&) = delete;

    mapping program;
    layout source;
    layout target;
    plan_problem problem;
    plan whole;
    strict_verdict verdict;
    conversion_kernels const* conversions = nullptr; ///< set if the program may cast
    bool source_is_joined = false;                   ///< `joined_for_plan` made the shards
    bool target_is_joined = false;
    std::uint64_t own_digest = 0;   ///< for a plan in a cache: a digest of this rank's arguments
    std::uint64_t group_digest = 0; ///< for a plan in a cache: a digest of all ranks' arguments
};

/// Sets `program` and `verdict`.
///
/// \pre    `planned_job.source`, `planned_job.target` exist
/// \throws the errors of `fitted_program`
RESHARD_DECL void fit_program(planned_job& planned_job, std::optional<mapping> program,
                              fit_rules const& rules);

/// Plans the transfers of the holders in `scope`, between completely known layouts.
///
/// \pre    `fit_program` was called
/// \throws the errors of `problem_of` and `make_plan`
RESHARD_DECL void plan_transfers(planned_job& planned_job, plan_scope const& scope,
                                 plan_options const& nodes);

/// The version of the planner. It increases when the planner makes a different plan from the same
/// inputs.
inline constexpr std::uint64_t planner_version = 3;

/// A digest of the mapping, layouts and options, which are the same for all holders.
RESHARD_DECL std::uint64_t structure_digest(mapping const& program, layout const& source,
                                            layout const& target, plan_options const& options = {});

/// A digest of a structure and of the holders that a plan is made for: equal if the inputs of
/// `make_plan` are equal.
///
/// \param structure the result of `structure_digest`
RESHARD_DECL std::uint64_t plan_digest(std::uint64_t structure, plan_scope const& scope = {});

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/planned_job.ipp>
#endif

#endif
