// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_PLACEMENT_IPP
#define RESHARD_LAYOUT_IMPL_PLACEMENT_IPP

#include <reshard/layout/placement.hpp>

#include <cstddef>
#include <string>

namespace reshard {

RESHARD_DECL std::string to_string(placement const& placement) {
    if (!placement.cuts())
        return placement.type == placement::kind::only
                   ? "only " + std::to_string(placement.coordinate)
                   : "replicate";
    if (placement.type == placement::kind::cyclic)
        return "block cyclic " + std::to_string(placement.axis) + " by " +
               std::to_string(placement.block) +
               (placement.coordinate == 0 ? "" : " from " + std::to_string(placement.coordinate));
    std::string text =
        (placement.strided ? "strided shard " : "shard ") + std::to_string(placement.axis);
    if (placement.type == placement::kind::equal)
        text += " even";
    for (std::size_t i = 0; i < placement.sizes.size(); ++i)
        text += (i ? ", " : " by ") + std::to_string(placement.sizes[i]);
    return text;
}

} // namespace reshard

#endif
