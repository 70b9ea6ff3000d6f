// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_IMPL_CHECK_WORLD_IPP
#define RESHARD_GROUP_IMPL_CHECK_WORLD_IPP

#include <reshard/group/check_world.hpp>

namespace reshard::detail {

RESHARD_DECL void check_ranks(std::string_view what, std::size_t wanted, int there) {
    if (wanted != static_cast<std::size_t>(there))
        fail(errc::bad_layout, std::string(what) + " is for " + std::to_string(wanted) +
                                   (wanted == 1 ? " rank" : " ranks") + ", and the group has " +
                                   std::to_string(there));
}

} // namespace reshard::detail

#endif
