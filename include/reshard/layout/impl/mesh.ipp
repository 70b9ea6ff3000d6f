// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_MESH_IPP
#define RESHARD_LAYOUT_IMPL_MESH_IPP

#include <reshard/layout/mesh.hpp>

namespace reshard {

RESHARD_DECL std::string mesh::names() const {
    std::string text;
    for (mesh_axis const& axis : axes())
        text += (text.empty() ? "'" : ", '") + std::string(axis.name()) + "'";
    return text;
}

RESHARD_DECL std::string to_string(mesh const& ranks) {
    std::string text;
    for (mesh_axis const& axis : ranks.axes())
        text += (text.empty() ? "" : " ") + std::string(axis.name()) + "=" +
                std::to_string(axis.extent);
    return text.empty() ? "one rank" : text;
}

RESHARD_DECL std::string to_string(rank_mesh const& ranks) {
    std::string text = to_string(ranks.grid());
    for (std::size_t i = 0; i < ranks.listed().size(); ++i)
        text += (i ? ", " : " over the ranks ") + std::to_string(ranks.listed()[i]);
    return text;
}

} // namespace reshard

#endif
