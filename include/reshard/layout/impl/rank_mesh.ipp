// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_RANK_MESH_IPP
#define RESHARD_LAYOUT_IMPL_RANK_MESH_IPP

#include <reshard/layout/rank_mesh.hpp>

namespace reshard {

RESHARD_DECL std::string to_string(rank_mesh const& ranks) {
    std::string text = to_string(ranks.grid());
    for (std::size_t i = 0; i < ranks.listed().size(); ++i)
        text += (i ? ", " : " over the ranks ") + std::to_string(ranks.listed()[i]);
    return text;
}

} // namespace reshard

#endif
