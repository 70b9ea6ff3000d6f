// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/check_world.hpp>

#include <reshard/mpi/mpi_group.hpp>

#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(mpi_check_world)

BOOST_AUTO_TEST_CASE(a_mesh_of_all_ranks_passes_and_one_of_more_is_an_error) {
    mpi_group const world{boost::mpi::communicator()};
    std::string const size = std::to_string(world.size());
    check_world(world, mesh{{"dp", 1}, {"tp", world.size()}});
    BOOST_CHECK_EXCEPTION(check_world(world, mesh{{"dp", 2}, {"tp", world.size()}}), error,
                          says(errc::bad_layout, "the mesh dp=2 tp=" + size + " is for " +
                                                     std::to_string(2 * world.size()) +
                                                     " ranks, and the group has " + size));
}

BOOST_AUTO_TEST_CASE(meshes_that_differ_are_an_error_on_every_rank) {
    mpi_group const world{boost::mpi::communicator()};
    int const last = world.size() - 1;
    if (last == 0)
        return;
    mesh const rows{{"dp", 1}, {"tp", world.size()}}, columns{{"dp", world.size()}, {"tp", 1}};
    BOOST_CHECK_EXCEPTION(
        check_world(world, world.rank() == last ? columns : rows), error,
        says(errc::ranks_disagree, "rank 0 runs check_world and rank " + std::to_string(last) +
                                       " runs it with a different program or different options; "
                                       "every rank must make the same call"));
}

BOOST_AUTO_TEST_SUITE_END()
