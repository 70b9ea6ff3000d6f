// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_PLANNED_JOB_HPP
#define RESHARD_BIND_PLANNED_JOB_HPP

#include <reshard/bind/bind.hpp>
#include <reshard/bind/job.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/plan/plan_problem.hpp>

#include <cstdint>
#include <memory>
#include <optional>

/// \file
/// What a job owns: its plan with what it was planned from, and its tensors.

namespace reshard::detail {

/// A plan, and what it was made from. The members refer to one another, so it never moves.
///
/// The layout of a side that was looked up has the shards of one process only.
struct planned_job {
    planned_job() = default;
    planned_job(planned_job const&) = delete;

    /// The plan with its tensors; `sources` and `targets` must live as long.
    bound_plan with(shard_views<const_tensor_view> const& sources,
                    shard_views<tensor_view> const& targets) const {
        return {whole, problem, sources, targets};
    }

    mapping program;
    compact_layout source;
    compact_layout target;
    plan_problem problem;
    plan whole;
    strict_verdict verdict;
    bool source_is_joined = false; ///< a rank's shards are those that `join_neighbours` makes
    bool target_is_joined = false;
};

/// Plans what `mine` give and get, between layouts that are known whole.
///
/// \pre    `all.source`, `all.target` are there
/// \throws error as `fitted_program`, `problem_of` and `make_plan`
RESHARD_DECL void plan_between(planned_job& all, std::optional<mapping> program,
                               plan_scope const& mine, options const& how,
                               plan_options const& nodes);

/// A number that stands for the call: equal where ranks do the same.
RESHARD_DECL std::uint64_t digest_of_call(options const& how);

/// What can be seen of the tensors of one rank alone.
///
/// \throws error that adding a tensor gave; errc::memory_overlap; errc::usage for options that
///         contradict one another
RESHARD_DECL void check_call(source_tensors const& have, target_tensors const& want,
                             options const& how);

/// A job as its group runs it.
class job_state {
public:
    explicit job_state(std::shared_ptr<planned_job const> ready) : planned(std::move(ready)) {}
    virtual ~job_state() = default;
    virtual void run() = 0;
    virtual index_t staging_bytes() const { return 0; }
    virtual plan_rounds const* rounds() const { return nullptr; }

    std::shared_ptr<planned_job const> planned;
    process_cost cost;
    bool was_kept = false;
};

/// A job whose tensors are bound to its plan.
class bound_job : public job_state {
public:
    /// \throws error with errc::bad_layout where a rank has more or less than its layout says
    bound_job(std::shared_ptr<planned_job const> ready, holder_t me, const_state_dict const& have,
              state_dict const& want);

    bound_plan bound() const { return planned->with(sources, targets); }

    shard_views<const_tensor_view> sources;
    shard_views<tensor_view> targets;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/planned_job.ipp>
#endif

#endif
