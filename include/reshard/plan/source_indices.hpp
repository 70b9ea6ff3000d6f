// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_SOURCE_INDICES_HPP
#define RESHARD_PLAN_SOURCE_INDICES_HPP

#include <reshard/core/hasher.hpp>
#include <reshard/plan/equal_classes.hpp>
#include <reshard/plan/part_index.hpp>
#include <reshard/plan/problem.hpp>

#include <cstdint>
#include <vector>

/// \file
/// The search trees of all source tensors, one for all tensors that are cut alike.

namespace reshard::detail {

constexpr void add(hasher& digest, box_list const& boxes) {
    digest.add(boxes.offsets().values());
    digest.add(boxes.shapes().values());
}

constexpr void add(hasher& digest, shard_table const& table) {
    add(digest, table.regions());
    for (flat_range const& flat : table.flat_ranges()) {
        digest.add(static_cast<std::uint64_t>(flat.begin));
        digest.add(static_cast<std::uint64_t>(flat.end));
    }
}

constexpr bool same_geometry(shard_table const& a, shard_table const& b) {
    return a.regions() == b.regions() && a.flat_ranges() == b.flat_ranges();
}

/// A `part_index` for each source tensor; tensors with equal shards share one.
class source_indices {
public:
    /// \throws error with errc::overlap where shards share elements without being replicas
    constexpr explicit source_indices(plan_problem const& problem) : problem_(problem) {
        classify_sources();
    }

    constexpr part_index const& of(key_id source) const { return indices_[kind(source)]; }

    /// Equal for tensors that are cut alike, and only for those.
    constexpr std::uint32_t kind(key_id source) const { return kinds_.class_of[source]; }

private:
    constexpr void classify_sources() {
        std::vector<std::uint64_t> digests;
        for (source_side const& source : problem_.sources) {
            hasher digest;
            if (source.shards)
                add(digest, *source.shards);
            digests.push_back(digest.value());
        }
        kinds_ = classify(digests, [&](std::uint32_t a, std::uint32_t b) {
            shard_table const *x = problem_.sources[a].shards, *y = problem_.sources[b].shards;
            return x && y ? same_geometry(*x, *y) : x == y;
        });
        for (std::uint32_t const i : kinds_.representative)
            indices_.push_back(index_source(problem_.sources[i]));
    }

    constexpr part_index index_source(source_side const& source) const {
        if (!source.shards)
            return {};
        part_index index = index_parts(*source.shards);
        if (auto const fault = find_overlap(index.boxes))
            fail_overlap(source, index, *fault);
        return index;
    }

    [[noreturn]] void fail_overlap(source_side const& source, part_index const& index,
                                   cover_fault const& fault) const {
        auto const named = [&](std::uint32_t i) {
            return source_name(problem_, source.shards->holder(index.replica(i, 0).shard)) +
                   " holds " + to_string(index.boxes[i]);
        };
        fail_tensor(errc::overlap, source.key,
                    "has shards that share elements " + to_string(fault.where) +
                        " without being equal: " + named(fault.first) + ", " + named(fault.second));
    }

    plan_problem const& problem_;
    equal_classes kinds_;
    std::vector<part_index> indices_; ///< by class
};

} // namespace reshard::detail

#endif
