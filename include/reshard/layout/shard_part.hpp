// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_SHARD_PART_HPP
#define RESHARD_LAYOUT_SHARD_PART_HPP

#include <cstdint>

/// \file
/// A box by the shard that it belongs to.

namespace reshard::detail {

/// One box of a shard: the shard itself, or one of the few boxes that a flat range is.
struct shard_part {
    std::uint32_t shard = 0;
    std::uint8_t part = 0;

    constexpr bool operator==(shard_part const&) const = default;
};

} // namespace reshard::detail

#endif
