// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_KEPT_PLAN_IPP
#define RESHARD_PLAN_IMPL_KEPT_PLAN_IPP

#include <reshard/plan/kept_plan.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/group/bytes.hpp>

#include <utility>

namespace reshard::detail {

RESHARD_DECL std::uint64_t kept_plan_recipe::right_checksum() const {
    hasher sum;
    sum.add(digest);
    sum.add(bytes);
    return sum.value();
}

RESHARD_DECL void validate(kept_plan_recipe const& kept) {
    if (std::uint64_t const found = kept.right_checksum(); found != kept.checksum)
        fail(errc::bad_layout, "it holds a plan with checksum ", found, " that had checksum ",
             kept.checksum, " when it was written: it has been altered");
}

RESHARD_DECL kept_plan::kept_plan(std::uint64_t made_from, plan kept)
    : digest(made_from), whole(std::move(kept)) {}

RESHARD_DECL kept_plan::kept_plan(kept_plan_recipe const& recipe)
    : kept_plan(recipe.digest, from_bytes<plan>(recipe.bytes)) {}

RESHARD_DECL kept_plan_recipe kept_plan::recipe() const {
    kept_plan_recipe result{digest, 0, to_bytes(whole)};
    result.checksum = result.right_checksum();
    return result;
}

} // namespace reshard::detail

#endif
