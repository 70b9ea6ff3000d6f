// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_DISTRIBUTION_IPP
#define RESHARD_LAYOUT_IMPL_DISTRIBUTION_IPP

#include <reshard/layout/distribution.hpp>

namespace reshard {

namespace detail {

RESHARD_DECL std::string sentence(placement_fault const& fault, mesh const& ranks,
                                  vector<placement> const& placements) {
    using kind = placement_fault::kind;
    std::string const wanted = std::to_string(fault.wanted);
    std::string const there = std::to_string(fault.there);
    if (fault.type == kind::count)
        return counted(fault.wanted, "placement") + " on a mesh of " +
               counted(fault.there, "axis") + " (" + to_string(ranks) +
               "); give one for each mesh axis";
    std::string const name =
        "mesh axis '" + std::string(ranks.axes()[fault.mesh_axis].name()) + "'";
    std::string const axis = "axis " + std::to_string(placements[fault.mesh_axis].axis) + ": ";
    switch (fault.type) {
    case kind::coordinate:
        return name + " has the coordinates 0 to " + std::to_string(fault.there - 1) + ", not " +
               wanted;
    case kind::axis:
        return name + " cuts axis " + wanted + " of a tensor of " + counted(fault.there, "axis");
    case kind::uneven:
        return axis + name + " cannot cut the extent " + there + " into " + wanted +
               " equal parts; use a ceil split or give sizes";
    case kind::size_count:
        return axis + name + " has " + counted(fault.there, "rank") + ", but " +
               counted(fault.wanted, "size");
    case kind::block:
        return axis + name + " has blocks of " + counted(fault.wanted, "element") + "; at least " +
               there + " is needed";
    case kind::dealt_out:
        return axis + name + " cuts an axis that mesh axis '" +
               std::string(ranks.axes()[static_cast<std::size_t>(fault.there)].name()) +
               "' has cut into cyclic blocks; block_cyclic must be the last cut";
    case kind::negative_size: return axis + name + " has a size of " + wanted;
    default:
        return axis + name + " has sizes that sum to " + wanted + ", not to the extent " + there;
    }
}

} // namespace detail

RESHARD_DECL std::string to_string(distribution const& distribution) {
    std::string text = to_string(distribution.shape()) + " on " + to_string(distribution.held_by());
    for (std::size_t i = 0; i < distribution.placements().size(); ++i)
        text += (i ? "; " : ": ") + to_string(distribution.placements()[i]);
    return text;
}

} // namespace reshard

#endif
