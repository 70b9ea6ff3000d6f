// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_PLAN_DIGEST_IPP
#define RESHARD_PLAN_IMPL_PLAN_DIGEST_IPP

#include <reshard/plan/plan_digest.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/expr/digest.hpp>
#include <reshard/layout/layout.hpp>

namespace reshard::detail {

RESHARD_DECL std::uint64_t structure_digest(mapping const& program, layout const& source,
                                            layout const& target, plan_options const& options) {
    return digest_of_all(planner_version, digest_of(program), digest_of(source), digest_of(target),
                         options);
}

RESHARD_DECL std::uint64_t plan_digest(std::uint64_t structure, plan_scope const& scope) {
    return digest_of_all(structure, scope);
}

} // namespace reshard::detail

#endif
