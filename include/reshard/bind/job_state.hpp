// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

// Before the guard: in header-only mode, a body after it includes this header.
#include <reshard/bind/job.hpp>

#ifndef RESHARD_BIND_JOB_STATE_HPP
#define RESHARD_BIND_JOB_STATE_HPP

#include <reshard/bind/bind.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/bind/overlap.hpp>
#include <reshard/core/config.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/plan/planned_job.hpp>
#include <reshard/plan/rounds.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// The state of a job: its plan, the problem of the plan, and its tensors.

namespace reshard::detail {

/// The values that are equal on ranks that do the same.
RESHARD_DECL compared_values call_fingerprint(options const& options);

/// What can be seen of the tensors of one rank alone.
///
/// \throws error that adding a tensor gave; errc::memory_overlap; errc::usage for options that
///         contradict each other
RESHARD_DECL void check_call(source_tensors const& have, target_tensors const& want,
                             options const& options);

/// A job as its group runs it.
class job_state {
public:
    explicit job_state(std::shared_ptr<planned_job const> ready) : planned(std::move(ready)) {}
    virtual ~job_state() = default;
    virtual void run() = 0;
    virtual index_t staging_bytes() const { return 0; }
    virtual plan_rounds const* rounds() const { return nullptr; }

    /// Handles of its tensors stay as long as the job does.
    void keep_handles(const_state_dict const& have, state_dict const& want) {
        handles = have.handles();
        handles.insert(handles.end(), want.handles().begin(), want.handles().end());
    }

    std::shared_ptr<planned_job const> planned;
    std::vector<std::shared_ptr<void const>> handles;
    process_cost cost;
    bool was_kept = false;
};

/// A job whose tensors are bound to its plan.
class bound_job : public job_state {
public:
    /// \throws error with errc::bad_layout if a rank has more or less than its layout says
    bound_job(std::shared_ptr<planned_job const> ready, holder_t me, const_state_dict const& have,
              state_dict const& want);

    bound_plan bound() const {
        return {planned->whole, planned->problem, sources, targets, planned->conversions};
    }

    shard_views<const_tensor_view> sources;
    shard_views<tensor_view> targets;
};

/// The shards of other tensors than these.
RESHARD_DECL const_state_dict without(const_state_dict const& shards,
                                      std::vector<std::string> keys);

/// The shards of the tensors of a layout.
RESHARD_DECL const_state_dict shards_in(const_state_dict const& shards, layout const& some);

/// The rounds of a job, and the plan of each.
struct planned_rounds {
    std::shared_ptr<planned_job> all; ///< without a plan
    plan_rounds rounds;
    std::vector<std::shared_ptr<planned_job const>> plans; ///< what this rank moves, a round each
};

/// The rank whose rounds are planned, of how many, on which nodes.
struct rounds_scope {
    holder_t me = 0;
    holder_t ranks = 1;
    plan_options nodes = {};
};

/// Plans what one rank moves in each round.
///
/// \pre    the layouts of `planned_job` exist
/// \throws error as `fit_program`, `problem_of`, `make_plan` and `rounds_of`
RESHARD_DECL planned_rounds plan_in_rounds(std::shared_ptr<planned_job> planned_job,
                                           std::optional<mapping> program, options const& options,
                                           rounds_scope const& scope);

/// Makes the rounds of a job, one after the other, with one rank's tensors.
template <group Group>
class rounds_job final : public job_state {
public:
    /// Binds the plan of a round to tensors. Does not communicate.
    using binder = std::function<std::unique_ptr<job_state>(
        std::shared_ptr<planned_job const>, const_state_dict const&, state_dict const&)>;

    rounds_job(Group const& ranks, planned_rounds ready, const_state_dict have,
               options const& options, binder bind)
        : job_state(ready.all),
          ranks_(ranks),
          planned_(std::move(ready)),
          have_(std::move(have)),
          allocate_(options.allocate),
          release_(options.release),
          bind_(std::move(bind)) {}

    /// \par Collective every rank of the group, in the same order
    void run() override {
        if (std::exchange(has_run_, true) && release_)
            fail(errc::usage, "this job has released its ", have_.size(),
                 " source tensors; prepare another one");
        const_state_dict live = have_;
        state_dict filled;
        for (std::size_t i = 0; i < planned_.plans.size(); ++i) {
            fill(*planned_.plans[i], planned_.plans[i], live, filled);
            agree_on(ranks_, [&] { release(planned_.rounds.rounds[i], live); });
        }
    }

    index_t staging_bytes() const override { return staged_; }
    plan_rounds const* rounds() const override { return &planned_.rounds; }

private:
    /// \param live   sources that this round or a later one reads, and those that none does
    /// \param filled targets of earlier rounds, which must not change
    void fill(planned_job const& round, std::shared_ptr<planned_job const> const& ready,
              const_state_dict const& live, state_dict& filled) {
        std::unique_ptr<job_state> moving;
        agree_on(ranks_, [&] {
            std::vector<std::string> keys;
            for (tensor_layout const& tensor : round.target.tensors)
                keys.push_back(tensor.key);
            state_dict const want = allocate_(keys);
            want.check();
            for (auto const& [descriptor, tensor] : want)
                filled.add(descriptor, tensor);
            filled.keep_handles(want);
            reshard::detail::check_memory({&live, 1}, {&filled, 1});
            moving = bind_(ready, shards_in(live, round.source), want);
        });
        moving->run();
        staged_ = std::max(staged_, moving->staging_bytes());
        cost += moving->cost;
    }

    void release(plan_round const& round, const_state_dict& live) {
        std::vector<std::string> keys;
        for (key_id const id : round.released)
            keys.emplace_back(planned->problem.sources[id].key);
        live = without(live, keys);
        if (release_ && !keys.empty())
            release_(keys);
    }

    Group ranks_;
    planned_rounds planned_;
    const_state_dict have_;
    decltype(options::allocate) allocate_;
    decltype(options::release) release_;
    binder bind_;
    index_t staged_ = 0;
    bool has_run_ = false;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/job_state.ipp>
#endif

#endif
