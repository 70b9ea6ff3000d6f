// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_FINDING_IPP
#define RESHARD_AOA_IMPL_FINDING_IPP

#include <reshard/aoa/finding.hpp>

namespace reshard::aoa {

RESHARD_DECL finding const* first_error_of(std::vector<finding> const& findings) {
    for (finding const& one : findings)
        if (one.level == reshard::detail::severity::error)
            return &one;
    return nullptr;
}

} // namespace reshard::aoa

#endif
