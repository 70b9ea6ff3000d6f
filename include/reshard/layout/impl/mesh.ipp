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

} // namespace reshard

#endif
