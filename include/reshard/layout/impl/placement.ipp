// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_PLACEMENT_IPP
#define RESHARD_LAYOUT_IMPL_PLACEMENT_IPP

#include <reshard/layout/placement.hpp>

#include <cstddef>
#include <string>

namespace reshard {

RESHARD_DECL std::string to_string(placement const& how) {
    if (!how.cuts())
        return how.what == placement::kind::only ? "only " + std::to_string(how.coordinate)
                                                 : "replicate";
    if (how.what == placement::kind::cyclic)
        return "block cyclic " + std::to_string(how.axis) + " by " + std::to_string(how.block);
    std::string text = (how.strided ? "strided shard " : "shard ") + std::to_string(how.axis);
    if (how.what == placement::kind::even)
        text += " even";
    for (std::size_t i = 0; i < how.sizes.size(); ++i)
        text += (i ? ", " : " by ") + std::to_string(how.sizes[i]);
    return text;
}

} // namespace reshard

#endif
