// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_HOLDER_HPP
#define RESHARD_LAYOUT_HOLDER_HPP

#include <cstdint>

/// \file
/// What ranks and files are numbered with.

namespace reshard {

/// Whoever holds a shard: a rank of a layout, or a file of a checkpoint, counted from 0.
using holder_t = std::uint32_t;

namespace detail {

/// Nobody: whoever gives zeros.
inline constexpr holder_t no_holder = 0xffffffff;

} // namespace detail

} // namespace reshard

#endif
