// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_PLAN_DIGEST_HPP
#define RESHARD_PLAN_PLAN_DIGEST_HPP

#include <reshard/core/config.hpp>
#include <reshard/plan/options.hpp>

#include <cstdint>

/// \file
/// A digest of all inputs of a plan.

namespace reshard {

class mapping;
struct layout;

namespace detail {

/// The version of the planner; goes up when it makes another plan of the same inputs.
inline constexpr std::uint64_t planner_version = 2;

/// A digest of mapping, layouts and options, which are the same for all holders.
RESHARD_DECL std::uint64_t structure_digest(mapping const& program, layout const& source,
                                            layout const& target, plan_options const& options = {});

/// A digest of a structure and of those for whom a plan is made: equal for equal inputs of
/// `make_plan`.
///
/// \param structure what `structure_digest` returned
RESHARD_DECL std::uint64_t plan_digest(std::uint64_t structure, plan_scope const& scope = {});

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/plan_digest.ipp>
#endif

#endif
