// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_IMPL_BOX_IPP
#define RESHARD_CORE_IMPL_BOX_IPP

#include <reshard/core/box.hpp>

namespace reshard {

RESHARD_DECL std::string to_string(box const& region) {
    std::string text = "[";
    for (std::size_t axis = 0; axis < region.ndim(); ++axis)
        text += (axis ? ", " : "") + std::to_string(region.offset[axis]) + ":" +
                std::to_string(region.end(axis));
    return text + "]";
}

RESHARD_DECL std::string to_string(detail::axis_cycles const& cycles) {
    std::string text;
    for (detail::axis_cycle const& cycle : cycles)
        text += " axis " + std::to_string(cycle.axis) + ": " + std::to_string(cycle.block) +
                " of " + std::to_string(cycle.period);
    return text;
}

} // namespace reshard

#endif
