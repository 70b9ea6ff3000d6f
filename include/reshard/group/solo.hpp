// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_SOLO_HPP
#define RESHARD_GROUP_SOLO_HPP

#include <reshard/group/group.hpp>

/// \file
/// The group of one process, for programs that do not start MPI.

namespace reshard {

/// A group of one: collectives return at once.
struct solo {
    int rank() const { return 0; }
    int size() const { return 1; }
    std::vector<std::string> all_gather(std::string const& bytes) const { return {bytes}; }
};

static_assert(group<solo>);

} // namespace reshard

#endif
