// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_REPEATED_NAME_IPP
#define RESHARD_AOA_IMPL_REPEATED_NAME_IPP

#include <reshard/aoa/repeated_name.hpp>

#include <cstdint>
#include <unordered_set>

namespace reshard::aoa::detail {

RESHARD_DECL name const* repeated_name(std::span<name const> names) {
    if (names.size() < 2)
        return nullptr;
    std::unordered_set<std::uint64_t> seen;
    for (name const& one : names)
        if (!seen.insert(std::uint64_t{one.id} << 8 | static_cast<std::uint8_t>(one.kind)).second)
            return &one;
    return nullptr;
}

} // namespace reshard::aoa::detail

#endif
