// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_SCOPE_PARTS_HPP
#define RESHARD_PLAN_SCOPE_PARTS_HPP

#include <reshard/plan/options.hpp>
#include <reshard/plan/source_indices.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// What the holders of a scope have of each tensor, found once.

namespace reshard::detail {

/// The boxes that a scope could give, and the shards that it wants.
struct scope_parts {
    using numbers = std::vector<std::uint32_t>;

    /// By source key: the boxes of its `part_index` that somebody in the scope holds. None where
    /// nobody outside the scope is given anything.
    std::vector<numbers> given;
    std::vector<numbers> wanted; ///< by target tensor: its shards that somebody in the scope wants

    constexpr scope_parts(plan_problem const& problem, plan_scope const& scope,
                          plan_options const& options, source_indices const& sources)
        : given(problem.sources.size(), numbers{}) {
        bool const gives = !scope.targets.is_everybody() && !options.shared_sources;
        for (key_id id = 0; gives && id < problem.sources.size(); ++id)
            if (shard_table const* const table = problem.sources[id].shards)
                given[id] = boxes_of_scope(*table, sources.of(id), scope.sources);
        wanted.reserve(problem.targets.size());
        for (target_side const& target : problem.targets)
            wanted.push_back(shards_of_scope(target, scope.targets));
    }

private:
    static constexpr numbers boxes_of_scope(shard_table const& table, part_index const& index,
                                            holder_set const& holders) {
        numbers boxes;
        for (std::uint32_t i = 0; i < index.boxes.size(); ++i)
            for (std::size_t which = 0; which < index.replicas(i); ++which)
                if (holders.contains(table.holder(index.replica(i, which).shard))) {
                    boxes.push_back(i);
                    break;
                }
        return boxes;
    }

    static constexpr numbers shards_of_scope(target_side const& target, holder_set const& holders) {
        numbers shards;
        for (std::uint32_t shard = 0; !target.added && shard < target.shards->size(); ++shard)
            if (holders.contains(target.shards->holder(shard)))
                shards.push_back(shard);
        return shards;
    }
};

} // namespace reshard::detail

#endif
