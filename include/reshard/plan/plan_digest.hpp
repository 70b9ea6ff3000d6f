// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_PLAN_DIGEST_HPP
#define RESHARD_PLAN_PLAN_DIGEST_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/expr/digest.hpp>
#include <reshard/plan/options.hpp>

#include <cstdint>

/// \file
/// A number that stands for all that a plan is made from.

namespace reshard::detail {

/// What a planner makes of the same inputs; goes up when it makes something else.
inline constexpr std::uint64_t planner_version = 1;

/// A digest of mapping, layouts and options: what all holders have in common.
///
/// \tparam Source `layout` or `compact_layout`
/// \tparam Target likewise
template <class Source, class Target>
std::uint64_t structure_digest(mapping const& program, Source const& source, Target const& target,
                               plan_options const& options = {}) {
    hasher digest;
    digest.add(planner_version);
    digest.add(digest_of(program));
    digest.add(digest_of(source));
    digest.add(digest_of(target));
    add_value(digest, options);
    return digest.value();
}

/// A digest of a structure and of those for whom a plan is made: equal for equal inputs of
/// `make_plan`.
///
/// \param structure what `structure_digest` returned
RESHARD_DECL std::uint64_t plan_digest(std::uint64_t structure, plan_scope const& scope = {});

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/plan_digest.ipp>
#endif

#endif
