// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_BIND_HPP
#define RESHARD_BIND_BIND_HPP

#include <reshard/bind/place.hpp>
#include <reshard/bind/shard_views.hpp>
#include <reshard/copy/choose.hpp>
#include <reshard/core/config.hpp>
#include <reshard/plan/plan.hpp>
#include <reshard/plan/plan_problem.hpp>

/// \file
/// A transfer meets memory: from global coordinates to an affine copy.

namespace reshard {

namespace detail {

/// A plan with the tensors that it moves between, of the holders that this process plays.
///
/// Refers to all four, which must live as long.
struct bound_plan {
    plan const& whole;
    plan_problem const& problem;
    shard_views<const_tensor_view> const& sources;
    shard_views<tensor_view> const& targets;
};

/// A place in memory with the strides of the target's factors from there on.
///
/// \par Units elements, from `data`
template <class Pointer>
struct bound_end {
    Pointer data;
    memory_place place;

    static constexpr void members(auto& self, auto&& visit) { visit(self.data, self.place); }
};

/// The source's end of a transfer.
///
/// \pre this process plays the source holder
RESHARD_DECL bound_end<void const*> source_end(bound_plan const& bound, transfer const& t);

/// The target's end of a transfer.
///
/// \pre this process plays the target holder
RESHARD_DECL bound_end<void*> target_end(bound_plan const& bound, transfer const& t);

/// What happens to the elements of a transfer from one end to the other.
///
/// \pre the transfer has a source: `t.source_key != zero_source`
RESHARD_DECL element_conversion conversion_of(plan const& whole, transfer const& t);

} // namespace detail

/// Runs a transfer whose two ends are in this process.
///
/// \pre    this process plays both holders, or the target alone where the transfer is zeros
/// \throws error with errc::dtype_mismatch when complex numbers are to become real ones
RESHARD_DECL void run_locally(detail::bound_plan const& bound, transfer const& t);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/bind.ipp>
#endif

#endif
