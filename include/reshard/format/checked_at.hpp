// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_CHECKED_AT_HPP
#define RESHARD_FORMAT_CHECKED_AT_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/json_cursor.hpp>

/// \file
/// Numbers of a layout file that are checked where they stand, before anything is made of them.

namespace reshard::detail {

/// Calls `make`; its errors are refused at `place`.
template <class Make>
auto checked_at(json_cursor const& place, Make make) {
    try {
        return make();
    } catch (error const& thrown) {
        place.refuse(thrown.what());
    }
}

/// The most ranks of a layout file: each takes memory as soon as a plan is made.
///
/// \par Source ours; some ten times the largest clusters, and 160 megabytes for what a plan costs
inline constexpr index_t most_ranks = index_t{1} << 22;

/// \throws error with errc::limit_exceeded where `place` asks for more ranks than `most_ranks`
RESHARD_DECL void check_rank_count(json_cursor const& place, index_t ranks);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/checked_at.ipp>
#endif

#endif
