// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_GRID_LIST_IPP
#define RESHARD_LAYOUT_IMPL_GRID_LIST_IPP

#include <reshard/layout/grid_list.hpp>

#include <string>
#include <vector>

namespace reshard::detail {

RESHARD_DECL void validate(std::vector<flat_grid> const& grids) {
    if (grids.empty())
        fail(errc::bad_layout, "it has a list of no grids");
    for (flat_grid const& one : grids)
        if (one.offset().size() != grids[0].offset().size())
            fail(errc::bad_layout, "it has a list of grids at offsets ", grids[0].offset(), " and ",
                 one.offset());
}

} // namespace reshard::detail

#endif
