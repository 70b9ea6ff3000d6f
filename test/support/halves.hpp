// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_HALVES_HPP
#define RESHARD_TEST_SUPPORT_HALVES_HPP

#include <boost/mpi/communicator.hpp>

#include <algorithm>

/// \file
/// Ranks of which the first half is one side, and the others are the other side.

namespace reshard::test {

/// A single rank is both sides.
struct halves {
    boost::mpi::communicator world;
    int sources = std::max(1, world.size() / 2);
    int targets = std::max(1, world.size() - sources);
    bool is_source = world.rank() < sources;
    bool is_target = world.rank() >= sources || world.size() == 1;
};

} // namespace reshard::test

#endif
