// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_REDISTRIBUTE_IPP
#define RESHARD_BIND_IMPL_REDISTRIBUTE_IPP

#include <reshard/bind/redistribute.hpp>

#include <reshard/bind/job_state.hpp>
#include <reshard/bind/overlap.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/plan/planned_job.hpp>

#include <memory>
#include <string_view>
#include <utility>

namespace reshard {

namespace detail {

/// A job whose tensors are all in this process.
class solo_job final : public bound_job {
public:
    using bound_job::bound_job;

    void run() override {
        if (scales)
            scales->fetch();
        bound_plan const bound = this->bound();
        auto const copy_all = [&] {
            for (transfer const& t : planned->whole.transfers)
                run_locally(bound, t);
        };
        device* recorded = nullptr;
        auto const start = [&] {
            recorded = copies_.start(copy_all, [&] { return common_device_of(bound); });
            if (!recorded)
                copy_all();
        };
        run_copies(devices, start,
                   [&](device& used) { &used == recorded ? used.finish() : used.wait(); });
    }

private:
    /// The device that makes all copies, or null. Copies that read scales are not the same in each
    /// run.
    device* common_device_of(bound_plan const& bound) const {
        common_device common;
        if (!devices.empty() && !scales)
            for (transfer const& t : planned->whole.transfers)
                common.add(ends_of(bound, t));
        return common.get();
    }

    repeated_copies copies_;
};

inline std::unique_ptr<solo_job> bind_alone(std::shared_ptr<planned_job const> planned,
                                            const_state_dict const& have, state_dict const& want,
                                            device_list const& devices) {
    auto moving = std::make_unique<solo_job>(std::move(planned), holder_t{0}, have, want, devices);
    for (transfer const& t : moving->planned->whole.transfers)
        moving->cost.bytes_local += wire_bytes(moving->planned->whole, t);
    return moving;
}

/// \throws error with errc::bad_layout for a layout of more than one rank
template <class View>
layout layout_alone(side<View> const& side, std::string_view noun) {
    if (!side.layout)
        return layout_of({side.tensors.descriptors()});
    if (side.layout->holders > 1)
        fail(errc::bad_layout, "the layout of the ", noun, " is for ", side.layout->holders,
             " ranks, and the group has 1");
    return *side.layout;
}

inline std::uint64_t digest_of_job(planned_job const& layouts,
                                   std::optional<mapping> const& program, options const& options) {
    return digest_of_all(planner_version, call_fingerprint(options).digest(),
                         program ? options.program.steps()->digest(*program) : 0,
                         options.cache->digest(layouts.source),
                         options.cache->digest(layouts.target));
}

} // namespace detail

namespace detail {

/// Prepares a job. If the job runs at once, compares tensors that the program relates as copies.
inline std::unique_ptr<job_state> prepare_call(solo const& alone, source_tensors have,
                                               target_tensors want, options const& options,
                                               bool runs_at_once) {
    check_call(have, want, options);
    if (runs_at_once)
        check_twins(have.tensors, options.devices);
    auto planned = std::make_shared<planned_job>();
    planned->conversions = conversions_of(options.program);
    planned->source = layout_alone(have, "source");
    planned->target = layout_alone(want, "target");
    std::optional<mapping> program;
    if (program_steps const* const steps = options.program.steps()) {
        side_facts const wanted{&planned->target, {}};
        program =
            steps->make_mapping(any_group(alone), options.program, {&planned->source, {}}, &wanted);
        if (runs_at_once)
            steps->compare_copies(any_group(alone), have.tensors, *program, options.devices,
                                  [&](const_state_dict const& from, state_dict const& to) {
                                      redistribute(alone, from, to);
                                  });
        if (!program->quantised().empty())
            return steps->quantise(
                any_group(alone), std::move(*program), std::move(have), std::move(want), options,
                [&](source_tensors from, target_tensors to, auto const& rest) {
                    return prepare_call(alone, std::move(from), std::move(to), rest, runs_at_once);
                });
    }
    if (options.memory)
        return options.memory.steps->prepare(
            any_group(alone),
            {std::move(planned),
             std::move(program),
             {},
             std::move(have.tensors),
             [devices = options.devices](std::shared_ptr<planned_job const> round,
                                         const_state_dict const& some, state_dict const& filled) {
                 return bind_alone(std::move(round), some, filled, devices);
             }},
            options);
    std::uint64_t const digest = options.cache ? digest_of_job(*planned, program, options) : 0;
    std::shared_ptr<planned_job const> ready =
        options.cache ? options.cache->find_plan(digest) : nullptr;
    bool const was_kept = ready != nullptr;
    if (!was_kept) {
        fit_program(*planned, std::move(program), rules_of(options));
        plan_transfers(*planned, {}, {});
        ready = std::move(planned);
        if (options.cache)
            options.cache->keep_plan(digest, ready);
    }
    std::shared_ptr<shard_scales> scales;
    if (program_steps const* const steps = options.program.steps();
        steps && dequantizes(ready->program))
        scales = steps->scales(any_group(alone), ready.get(), {}, have.tensors,
                               [&](const_state_dict const& from, state_dict const& to) {
                                   return prepare(alone, from, to, {.devices = options.devices});
                               });
    auto state = bind_alone(std::move(ready), have.tensors, want.tensors, options.devices);
    state->scales = std::move(scales);
    state->was_kept = was_kept;
    state->keep_handles(have.tensors, want.tensors);
    return state;
}

RESHARD_DECL job prepare_made(solo const& alone, plan_maker const& plan, source_tensors have,
                              target_tensors want, device_list const& devices) {
    check_call(have, want, {.devices = devices});
    made_plan made_plan = plan.make(have, want, {static_cast<holder_t>(alone.rank()), 1});
    auto state = bind_alone(std::move(made_plan.planned), have.tensors, want.tensors, devices);
    state->keep_handles(have.tensors, want.tensors);
    return job(std::move(state));
}

} // namespace detail

RESHARD_DECL job prepare(solo const& alone, source_tensors have, target_tensors want,
                         options const& options) {
    return job(detail::prepare_call(alone, std::move(have), std::move(want), options, false));
}

RESHARD_DECL void redistribute(solo const& alone, source_tensors have, target_tensors want,
                               options const& options) {
    detail::prepare_call(alone, std::move(have), std::move(want), options, true)->run();
}

} // namespace reshard

#endif
