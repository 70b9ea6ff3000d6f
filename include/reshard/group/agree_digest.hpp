// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_AGREE_DIGEST_HPP
#define RESHARD_GROUP_AGREE_DIGEST_HPP

#include <reshard/group/agree.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Ranks compare what they have by a number that stands for it.

namespace reshard::detail {

/// Refuses ranks whose `digest` of `what` differs, or which have an error already.
///
/// \par Collective every rank of the group, in the same order
/// \throws error the lowest failing rank's, on every rank alike; else errc::ranks_disagree, which
///         names the first two ranks that differ, and both digests
template <group Group>
void agree_on_digest(Group const& world, std::string_view what, std::uint64_t digest,
                     local_error const& mine = std::nullopt) {
    std::vector<std::string> const all =
        world.all_gather(mine ? encode(mine) : '\0' + std::to_string(digest));
    for (std::string const& bytes : all)
        if (auto const problem = decode(bytes))
            throw error(*problem);
    for (std::size_t rank = 1; rank < all.size(); ++rank)
        if (all[rank] != all[0])
            fail(errc::ranks_disagree, "rank 0 has " + std::string(what) + " with digest " +
                                           all[0].substr(1) + ", and rank " + std::to_string(rank) +
                                           " one with digest " + all[rank].substr(1) +
                                           "; every rank must have the same");
}

} // namespace reshard::detail

#endif
