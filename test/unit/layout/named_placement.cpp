// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/model/parallel_tensor.hpp>

#include "support/says.hpp"

#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_named_placement)

BOOST_AUTO_TEST_CASE(axes_that_are_not_named_replicate) {
    mesh const grid{{"pp", 2}, {"dp", 2}, {"tp", 3}};
    std::vector<placement> const expected{only{1}, replicate{}, shard{1}};
    BOOST_TEST((placements_on(grid, {{"tp", shard{1}}, {"pp", only{1}}}) == expected));
}

BOOST_AUTO_TEST_CASE(names_the_mesh_does_not_have_are_refused) {
    mesh const grid{{"pp", 2}, {"tp", 3}};
    BOOST_CHECK_EXCEPTION(
        placements_on(grid, {{"ep", shard{0}}}), error,
        test::says(errc::bad_layout, "the mesh has no axis 'ep', only 'pp', 'tp'"));
}

BOOST_AUTO_TEST_CASE(a_mesh_axis_takes_one_placement) {
    mesh const grid{{"pp", 2}, {"tp", 3}};
    BOOST_CHECK_EXCEPTION(
        placements_on(grid, {{"tp", shard{0}}, {"pp", replicate{}}, {"tp", shard{1}}}), error,
        test::says(errc::bad_layout, "two placements for mesh axis 'tp': shard 0 and shard 1"));
}

BOOST_AUTO_TEST_SUITE_END()
