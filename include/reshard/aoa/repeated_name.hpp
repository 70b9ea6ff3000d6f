// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_REPEATED_NAME_HPP
#define RESHARD_AOA_REPEATED_NAME_HPP

#include <reshard/aoa/ast.hpp>

#include <cstdint>
#include <span>
#include <unordered_set>

/// \file
/// Names that stand twice in a list.

namespace reshard::aoa {

/// The first name that has stood before in the list, or null.
///
/// \pre each is a text or a temporary
inline name const* repeated_name(std::span<name const> names) {
    if (names.size() < 2)
        return nullptr;
    std::unordered_set<std::uint64_t> seen;
    for (name const& one : names)
        if (!seen.insert(std::uint64_t{one.id} << 8 | static_cast<std::uint8_t>(one.kind)).second)
            return &one;
    return nullptr;
}

} // namespace reshard::aoa

#endif
