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
    hasher digest;
    digest.add(planner_version);
    digest.add(digest_of(program));
    digest.add(digest_of(source));
    digest.add(digest_of(target));
    add_value(digest, options);
    return digest.value();
}

RESHARD_DECL std::uint64_t plan_digest(std::uint64_t structure, plan_scope const& scope) {
    hasher digest;
    digest.add(structure);
    add_value(digest, scope);
    return digest.value();
}

} // namespace reshard::detail

#endif
