// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_PART_INDEX_HPP
#define RESHARD_PLAN_PART_INDEX_HPP

#include <reshard/layout/cover.hpp>
#include <reshard/layout/shard_part.hpp>

#include <cstdint>
#include <vector>

/// \file
/// All boxes that the shards of one tensor are made of, searchable.

namespace reshard::detail {

/// The different boxes of a tensor's shards, a search tree over them, and who holds each.
struct part_index {
    box_index boxes;                  ///< each different box once
    std::vector<std::uint32_t> first; ///< `parts[first[i]]` to `parts[first[i + 1]]` hold box `i`
    std::vector<shard_part> parts;

    constexpr std::size_t replicas(std::size_t i) const { return first[i + 1] - first[i]; }

    /// Replica `which` of box `i`.
    ///
    /// \pre `i < boxes.size()` and `which < replicas(i)`
    constexpr shard_part replica(std::size_t i, std::size_t which) const {
        return parts[first[i] + which];
    }
};

struct listed_parts {
    box_list boxes;
    std::vector<shard_part> parts;
};

constexpr listed_parts list_parts(shard_table const& table) {
    listed_parts listed{box_list(table.ndim()), {}};
    for (std::uint32_t shard = 0; shard < table.size(); ++shard) {
        if (!table.flat(shard)) {
            for_each_block(table.region(shard), table.cycles(shard), [&](box const& block) {
                listed.boxes.push_back(block);
                listed.parts.push_back({shard, 0});
            });
            continue;
        }
        std::uint8_t number = 0;
        for (box const& region : table.boxes(shard)) {
            listed.boxes.push_back(region);
            listed.parts.push_back({shard, number++});
        }
    }
    return listed;
}

/// Indexes the shards of a tensor.
///
/// \post   replicas stand in the order of the table, so that every process counts them alike
/// \throws error with errc::shape_mismatch for a flat range that exceeds its region
constexpr part_index index_parts(shard_table const& table) {
    listed_parts const listed = list_parts(table);
    distinct_boxes different = distinct(listed.boxes);
    part_index result;
    result.first = std::vector<std::uint32_t>(different.boxes.size() + 1, 0);
    for (std::uint32_t const which : different.which)
        ++result.first[which + 1];
    for (std::size_t i = 1; i < result.first.size(); ++i)
        result.first[i] += result.first[i - 1];
    std::vector<std::uint32_t> next(result.first.begin(), result.first.end());
    result.parts = std::vector<shard_part>(listed.parts.size(), shard_part{});
    for (std::size_t i = 0; i < listed.parts.size(); ++i)
        result.parts[next[different.which[i]]++] = listed.parts[i];
    result.boxes = box_index(std::move(different.boxes));
    return result;
}

} // namespace reshard::detail

#endif
