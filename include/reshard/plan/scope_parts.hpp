// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_SCOPE_PARTS_HPP
#define RESHARD_PLAN_SCOPE_PARTS_HPP

#include <reshard/plan/options.hpp>
#include <reshard/plan/source_indices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// What the holders of a scope have of each tensor, found once.

namespace reshard::detail {

/// The boxes that a scope could give, and the shards that it wants.
struct scope_parts {
    using numbers = std::vector<std::uint32_t>;

    /// By spread of the sources: the boxes of its `shard_index` that somebody in the scope holds.
    /// None where nobody outside the scope is given anything.
    std::vector<numbers> given;
    /// By spread of the targets: the shards that somebody in the scope wants.
    std::vector<numbers> wanted;

    constexpr scope_parts(plan_scope const& scope, plan_options const& options,
                          source_indices const& sources, shard_kinds const& targets)
        : given(sources.kinds().spreads().size(), numbers{}) {
        bool const gives = !scope.targets.is_everybody() && !options.shared_sources;
        for (std::uint32_t i = 0; gives && i < given.size(); ++i)
            if (tensor_shards const& shards = sources.kinds().spreads()[i])
                given[i] = boxes_of(shards, sources.of_spread(i), scope.sources);
        wanted.reserve(targets.spreads().size());
        for (tensor_shards const& shards : targets.spreads())
            wanted.push_back(shards_of(shards, scope.targets));
    }

private:
    /// The different boxes among the shards of some holders, ascending.
    static constexpr numbers boxes_of(tensor_shards const& shards, shard_index const& index,
                                      holder_set const& holders) {
        numbers boxes;
        if (index.is_computed()) {
            for (std::uint32_t const shard : shards_of(shards, holders)) {
                std::uint32_t const first = index.first_box(shard);
                std::size_t const count = // blocks have one number together
                    shards.flat(shard) ? shards.boxes(shard).size() : 1;
                for (std::uint32_t number = 0; number < count; ++number)
                    boxes.push_back(first + number);
            }
            std::sort(boxes.begin(), boxes.end());
            boxes.erase(std::unique(boxes.begin(), boxes.end()), boxes.end());
            return boxes;
        }
        for (std::uint32_t i = 0; i < index.size(); ++i)
            for (std::size_t which = 0; which < index.replicas(i); ++which)
                if (holders.contains(shards.holder(index.replica(i, which).shard))) {
                    boxes.push_back(i);
                    break;
                }
        return boxes;
    }

    /// The shards of some holders, ascending.
    static constexpr numbers shards_of(tensor_shards const& shards, holder_set const& holders) {
        numbers all;
        if (shards && !shards.table() && !holders.is_everybody()) {
            for (holder_t const holder : holders.listed())
                shards.for_each_of(holder, [&](std::uint32_t shard) { all.push_back(shard); });
            std::sort(all.begin(), all.end());
            return all;
        }
        for (std::uint32_t shard = 0; shard < shards.size(); ++shard)
            if (holders.contains(shards.holder(shard)))
                all.push_back(shard);
        return all;
    }
};

} // namespace reshard::detail

#endif
