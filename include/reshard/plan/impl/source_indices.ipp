// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_SOURCE_INDICES_IPP
#define RESHARD_PLAN_IMPL_SOURCE_INDICES_IPP

#include <reshard/plan/source_indices.hpp>

#include <reshard/core/config.hpp>

namespace reshard::detail {

RESHARD_DECL void source_indices::fail_overlap(source_side const& source, shard_index const& index,
                                               cover_fault const& fault) const {
    auto const named = [&](std::uint32_t i) {
        return source_name(problem_, source.shards.holder(index.replica(i, 0).shard)) + " holds " +
               to_string(index[i]) + to_string(index.cycles(i));
    };
    fail_tensor(errc::overlap, source.key,
                "has unequal shards that overlap in " + to_string(fault.where) + ": " +
                    named(fault.first) + ", " + named(fault.second));
}

} // namespace reshard::detail

#endif
