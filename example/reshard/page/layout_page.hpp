// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PAGE_LAYOUT_PAGE_HPP
#define RESHARD_TOOL_PAGE_LAYOUT_PAGE_HPP

#include "page/html.hpp"

#include <reshard/core/vector.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/layout/mesh.hpp>

#include <optional>
#include <string>

/// \file
/// Shows the holders and their shards in a section of a page.

namespace tool {

/// A layout, and the names of its holders.
struct shown_layout {
    reshard::layout const& held;
    std::string holder;                      ///< `rank` or `file`
    reshard::vector<std::string> names;      ///< names of the holders
    std::optional<reshard::mesh> ranks = {}; ///< set if the holders are the ranks of a mesh
};

/// Shows the holders as a grid, their bytes by kind of tensor, and the boxes of each kind.
html layout_part(shown_layout const& shown);

} // namespace tool

#endif
