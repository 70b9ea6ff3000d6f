// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_HOLDER_HPP
#define RESHARD_LAYOUT_HOLDER_HPP

#include <cstdint>

/// \file
/// The numbers of ranks and files.

namespace reshard {

/// The holder of a shard: a rank of a layout, or a file of a checkpoint, counted from 0.
using holder_t = std::uint32_t;

namespace detail {

/// No holder: the source of zeros.
inline constexpr holder_t no_holder = 0xffffffff;

/// The most ranks that files, options and the environment may name: each rank takes memory as soon
/// as a plan is made.
///
/// \par Source ours; some ten times the largest clusters, and 160 megabytes for the cost of a plan
inline constexpr holder_t most_ranks_named = holder_t{1} << 22;

} // namespace detail

} // namespace reshard

#endif
