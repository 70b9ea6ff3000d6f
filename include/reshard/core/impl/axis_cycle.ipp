// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_IMPL_AXIS_CYCLE_IPP
#define RESHARD_CORE_IMPL_AXIS_CYCLE_IPP

#include <reshard/core/axis_cycle.hpp>

namespace reshard {

RESHARD_DECL std::string to_string(detail::axis_cycles const& cycles) {
    std::string text;
    for (detail::axis_cycle const& one : cycles)
        text += " axis " + std::to_string(one.axis) + ": " + std::to_string(one.block) + " of " +
                std::to_string(one.period);
    return text;
}

} // namespace reshard

#endif
