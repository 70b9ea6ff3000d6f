// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_REDISTRIBUTE_IPP
#define RESHARD_BIND_IMPL_REDISTRIBUTE_IPP

#include <reshard/bind/redistribute.hpp>

#include <reshard/bind/bind.hpp>
#include <reshard/bind/overlap.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/expr/fit_shapes.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

namespace reshard {

RESHARD_DECL void redistribute_locally(std::span<const_state_dict const> source,
                                       std::span<state_dict const> target, mapping const& program,
                                       redistribute_options const& options) {
    layout const source_layout = layout_of(source);
    layout const target_layout = layout_of(target);
    mapping const fitted = fit_shapes(program, target_layout, options.allow_shape_mismatch);
    plan_problem const problem = problem_of(fitted, source_layout, target_layout);
    plan const whole = make_plan(problem, {}, plan_options_of(options));
    shard_views<const_tensor_view> sources;
    shard_views<tensor_view> targets;
    for (holder_t rank = 0; rank < source.size(); ++rank)
        sources.add(source[rank], source_layout, rank);
    for (holder_t rank = 0; rank < target.size(); ++rank)
        targets.add(target[rank], target_layout, rank);
    check_memory(source, target);
    bound_plan const bound{whole, problem, sources, targets};
    for (transfer const& part : whole.transfers)
        run_locally(bound, part);
}

RESHARD_DECL void redistribute_locally(std::span<const_state_dict const> source,
                                       std::span<state_dict const> target,
                                       redistribute_options const& options) {
    redistribute_locally(source, target, by_name(catalog_of(layout_of(source)), layout_of(target)),
                         options);
}

} // namespace reshard

#endif
