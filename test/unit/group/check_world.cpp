// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/check_world.hpp>

#include <reshard/group/solo.hpp>

#include "support/listed_layout.hpp"
#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(shard_check_world)

BOOST_AUTO_TEST_CASE(one_process_is_a_mesh_of_one_rank) {
    check_world(solo{}, mesh{});
    check_world(solo{}, mesh{{"tp", 1}, {"dp", 1}});
    check_world(solo{}, layout{1, {}, {}});
}

BOOST_AUTO_TEST_CASE(another_number_of_ranks_names_both) {
    BOOST_CHECK_EXCEPTION(
        check_world(solo{}, mesh{{"dp", 3}, {"tp", 2}}), error,
        says(errc::bad_layout, "the mesh dp=3 tp=2 is for 6 ranks, and the group has 1"));
    BOOST_CHECK_EXCEPTION(
        check_world(solo{}, layout{4, {}, {}}), error,
        says(errc::bad_layout, "a layout of 0 tensors is for 4 ranks, and the group has 1"));
    BOOST_CHECK_EXCEPTION(
        check_world(solo{}, test::listed_layout(0, {{"w", data_type::f32, {1}, shard_table(1)}})),
        error, says(errc::bad_layout, "a layout of 1 tensor is for 0 ranks, and the group has 1"));
}

BOOST_AUTO_TEST_SUITE_END()
