// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_REPLICA_HPP
#define RESHARD_LAYOUT_REPLICA_HPP

#include <reshard/core/config.hpp>
#include <reshard/layout/distribution.hpp>

#include <cstddef>
#include <vector>

/// \file
/// Which copy of a shard is the main one: numbers of replicas, by arithmetic, or as a program says.

namespace reshard::detail {

/// The number of a rank among those that hold the same shard, in the order of ranks; 0 is the main
/// copy.
///
/// \pre        `how.region(rank)` is there
/// \par Source `replica_id` of Megatron-Core, which every caller makes up; here it follows from the
///             placements
constexpr index_t replica_number(distribution const& how, holder_t rank) {
    index_vector const at = how.ranks().coordinates_of(*how.held_by().place_of(rank));
    index_t number = 0;
    for (std::size_t i = 0; i < how.placements().size(); ++i)
        if (how.placements()[i].what == placement::kind::replicate)
            number = number * how.ranks().all_axes[i].extent + at[i];
    return number;
}

/// Refuses numbers of replicas, one for each shard in its order, unless of equal shards exactly one
/// has the number 0: the main copy, which alone is written.
///
/// Shards without elements have no main copy.
///
/// \pre    `replicas.size() == tensor.shards.size()`
/// \throws error with errc::bad_layout that names key, shard and the ranks that hold it
RESHARD_DECL void check_replicas(tensor_layout const& tensor, std::vector<index_t> const& replicas);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/replica.ipp>
#endif

#endif
