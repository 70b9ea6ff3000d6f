// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_NAMED_PLACEMENT_HPP
#define RESHARD_LAYOUT_NAMED_PLACEMENT_HPP

#include <reshard/layout/mesh.hpp>
#include <reshard/layout/placement.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Placements by the names of the mesh axes that they belong to.

namespace reshard::detail {

/// A placement and the name of the mesh axis that it belongs to.
struct named_placement {
    std::string_view mesh_axis;
    placement how;
};

/// One placement for each axis of the mesh, in its order; axes that are not named replicate.
///
/// \throws error with errc::bad_layout for a name that the mesh does not have, or that appears
///         twice
constexpr std::vector<placement> placements_on(mesh const& ranks,
                                               std::vector<named_placement> const& named) {
    std::vector<placement> placements(ranks.ndim());
    for (std::size_t i = 0; i < named.size(); ++i) {
        placements[ranks.axis(named[i].mesh_axis)] = named[i].how;
        for (std::size_t earlier = 0; earlier < i; ++earlier)
            if (named[earlier].mesh_axis == named[i].mesh_axis)
                fail(errc::bad_layout,
                     "two placements for mesh axis '" + std::string(named[i].mesh_axis) +
                         "': " + to_string(named[earlier].how) + " and " + to_string(named[i].how));
    }
    return placements;
}

} // namespace reshard::detail

#endif
