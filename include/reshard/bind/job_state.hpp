// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

// Before the guard: in header-only mode, an .ipp after the guard includes this header.
#include <reshard/bind/job.hpp>
#include <reshard/core/vector.hpp>

#ifndef RESHARD_BIND_JOB_STATE_HPP
#define RESHARD_BIND_JOB_STATE_HPP

#include <reshard/bind/bind.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/bind/overlap.hpp>
#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/plan/options.hpp>
#include <reshard/plan/planned_job.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

/// \file
/// The state of a job: its plan, the problem of the plan, and its tensors.

namespace reshard::detail {

/// The values of the options that all ranks of a call must share.
RESHARD_DECL compared_values call_fingerprint(options const& options);

/// Checks the tensors of this rank alone.
///
/// \throws the errors of adding a tensor; errc::memory_overlap; errc::usage for options that
///         contradict each other
RESHARD_DECL void check_call(source_tensors const& have, target_tensors const& want,
                             options const& options);

/// The kernels that a call needs, or null if it casts nothing.
inline conversion_kernels const* conversions_of(any_program const& program) {
    return program.steps() ? &program.steps()->conversions : nullptr;
}

/// The digest of a program that ranks compare before they make its mapping.
inline std::uint64_t digest_of_given(any_program const& program) {
    mapping const* const mapping = program.known();
    return mapping ? program.steps()->digest(*mapping) : program.is_by_name();
}

/// The options of a call that adapt its program to its target.
inline fit_rules rules_of(options const& options) {
    program_steps const* const steps = options.program.steps();
    auto const& [strict, shapes] = std::tie(options.strict, options.shape_mismatch);
    return {strict.value, shapes.value, steps ? steps->check : nullptr,
            strict.steps ? strict.steps : shapes.steps};
}

/// A job that any group can run.
class job_state {
public:
    explicit job_state(std::shared_ptr<planned_job const> ready) : planned(std::move(ready)) {}
    virtual ~job_state() = default;
    virtual void run() = 0;
    virtual index_t staging_bytes() const { return 0; }
    virtual plan_rounds const* rounds() const { return nullptr; }

    /// Keeps the tensors' handles for the lifetime of the job.
    void keep_handles(const_state_dict const& have, state_dict const& want) {
        handles = have.handles();
        handles.insert(handles.end(), want.handles().begin(), want.handles().end());
    }

    std::shared_ptr<planned_job const> planned;
    vector<std::shared_ptr<void const>> handles;
    process_cost cost;
    bool was_kept = false;
};

/// A job with tensors bound to its plan.
class bound_job : public job_state {
public:
    /// \throws error with errc::bad_layout if a rank's tensors are not the shards in its layout
    bound_job(std::shared_ptr<planned_job const> ready, holder_t me, const_state_dict const& have,
              state_dict const& want, device_list tensor_devices);

    bound_plan bound() const {
        return {planned->whole,       planned->problem, sources, targets,
                planned->conversions, scales.get(),     &devices};
    }

    shard_views<const_tensor_view> sources;
    shard_views<tensor_view> targets;
    std::shared_ptr<shard_scales> scales; ///< null if the plan does not dequantize
    device_list devices;
};

/// Binds the plan of a round to tensors. Does not communicate.
using round_binder = std::function<std::unique_ptr<job_state>(
    std::shared_ptr<planned_job const>, const_state_dict const&, state_dict const&)>;

/// A call that fills its targets in rounds.
struct round_call {
    std::shared_ptr<planned_job> layouts; ///< of all ranks, without a plan
    std::optional<mapping> program;
    plan_options nodes;
    const_state_dict have;
    round_binder bind;
    device_list devices = {};
};

/// The steps of a call that fills its targets in rounds. Other calls do not compile them.
struct round_steps {
    /// \throws error with errc::usage for arguments that exclude rounds
    void (*check)(source_tensors const& have, target_tensors const& want, options const& options);

    /// \par Collective every rank of the group, in the same order
    /// \throws the errors of `fitted_program`, `problem_of`, `make_plan` and `rounds_of`, on every
    ///         rank
    std::unique_ptr<job_state> (*prepare)(any_group const& ranks, round_call call,
                                          options const& options);
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/job_state.ipp>
#endif

#endif
