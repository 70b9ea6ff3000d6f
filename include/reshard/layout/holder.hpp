// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_HOLDER_HPP
#define RESHARD_LAYOUT_HOLDER_HPP

#include <cstdint>

/// \file
/// The numbers of ranks and files.

namespace reshard {

/// The holder of a shard: a rank of a layout or a file of a checkpoint, numbered from 0.
using holder_t = std::uint32_t;

namespace detail {

/// No holder: the source of elements that are zero.
inline constexpr holder_t no_holder = 0xffffffff;

/// The largest number of ranks that files, options and the environment may name. A plan takes
/// memory for each rank.
///
/// \par Source our choice: about ten times the largest clusters; the cost of a plan then takes 160
///             megabytes
inline constexpr holder_t most_ranks_named = holder_t{1} << 22;

} // namespace detail

} // namespace reshard

#endif
