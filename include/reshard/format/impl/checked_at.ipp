// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_CHECKED_AT_IPP
#define RESHARD_FORMAT_IMPL_CHECKED_AT_IPP

#include <reshard/format/checked_at.hpp>

#include <string>

namespace reshard::detail {

RESHARD_DECL void check_rank_count(json_cursor const& place, index_t ranks) {
    if (ranks > most_ranks)
        place.refuse(errc::limit_exceeded, "a layout of " + std::to_string(ranks) +
                                               " ranks; at most " + std::to_string(most_ranks) +
                                               " are possible, so use fewer");
}

} // namespace reshard::detail

#endif
