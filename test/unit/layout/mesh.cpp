// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/mesh.hpp>

#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(shard_mesh)

BOOST_AUTO_TEST_CASE(the_last_axis_runs_fastest) {
    mesh const grid{{"pp", 2}, {"dp", 2}, {"tp", 3}};
    BOOST_TEST(grid.rank_count() == 12u);
    BOOST_TEST((grid.coordinates_of(0) == index_vector{0, 0, 0}));
    BOOST_TEST((grid.coordinates_of(1) == index_vector{0, 0, 1}));
    BOOST_TEST((grid.coordinates_of(3) == index_vector{0, 1, 0}));
    BOOST_TEST((grid.coordinates_of(6) == index_vector{1, 0, 0}));
    BOOST_TEST((grid.coordinates_of(11) == index_vector{1, 1, 2}));
}

BOOST_AUTO_TEST_CASE(ranks_and_coordinates_are_inverse) {
    mesh const grid{{"a", 3}, {"b", 1}, {"c", 5}};
    for (holder_t rank = 0; rank < 15; ++rank)
        BOOST_TEST(grid.rank_at(grid.coordinates_of(rank)) == rank);
    BOOST_TEST(grid.rank_at({2, 0, 3}) == 13u);
}

BOOST_AUTO_TEST_CASE(a_mesh_without_axes_is_one_rank) {
    BOOST_TEST(mesh{}.rank_count() == 1u);
    BOOST_TEST(to_string(mesh{}) == "one rank");
}

BOOST_AUTO_TEST_CASE(axes_are_found_by_name) {
    mesh const grid{{"pp", 2}, {"tp", 3}};
    BOOST_TEST(grid.axis("pp") == 0u);
    BOOST_TEST(grid.axis("tp") == 1u);
    BOOST_CHECK_EXCEPTION(grid.axis("ep"), error,
                          says(errc::bad_layout, "the mesh has no axis 'ep', only 'pp', 'tp'"));
    BOOST_CHECK_EXCEPTION(mesh{}.axis("ep"), error,
                          says(errc::bad_layout, "the mesh has no axis 'ep', only one rank"));
}

BOOST_AUTO_TEST_CASE(meshes_print) {
    BOOST_TEST(to_string(mesh{{"pp", 2}, {"tp", 3}}) == "pp=2 tp=3");
}

BOOST_AUTO_TEST_CASE(meshes_compare_by_names_and_extents) {
    BOOST_TEST((mesh{{"tp", 2}} == mesh{{"tp", 2}}));
    BOOST_TEST((mesh{{"tp", 2}} != mesh{{"tp", 3}}));
    BOOST_TEST((mesh{{"tp", 2}} != mesh{{"dp", 2}}));
    BOOST_TEST((mesh{{"tp", 2}} != mesh{{"tp", 2}, {"dp", 1}}));
}

BOOST_AUTO_TEST_CASE(axes_that_make_no_grid_are_refused) {
    BOOST_CHECK_EXCEPTION((mesh{{"tp", 2}, {"tp", 3}}), error,
                          says(errc::bad_layout, "the mesh has two axes named 'tp'"));
    BOOST_CHECK_EXCEPTION(
        (mesh{{"tp", 0}}), error,
        says(errc::bad_layout, "mesh axis 'tp' has 0 ranks; at least 1 is needed"));
    BOOST_CHECK_EXCEPTION((mesh{{"tp", 2}, {"", 3}}), error,
                          says(errc::bad_layout, "axis 1 of the mesh has no name"));
}

BOOST_AUTO_TEST_CASE(meshes_beyond_the_limits_are_refused) {
    BOOST_CHECK_EXCEPTION(
        (mesh{{"a", 65536}, {"b", 32768}}), error,
        says(errc::limit_exceeded, "mesh axis 'b' would give the mesh more than 2147483647 ranks"));
    BOOST_TEST((mesh{{"a", 2147483647}}.rank_count()) == 2147483647u);
    BOOST_CHECK_EXCEPTION((mesh{{"a", 1},
                                {"b", 1},
                                {"c", 1},
                                {"d", 1},
                                {"e", 1},
                                {"f", 1},
                                {"g", 1},
                                {"h", 1},
                                {"i", 1}}),
                          error,
                          says(errc::limit_exceeded, "a mesh has 9 axes; at most 8 are allowed"));
    std::string const long_name(32, 'x');
    BOOST_CHECK_EXCEPTION(
        (mesh_axis{long_name, 1}), error,
        says(errc::limit_exceeded, "the mesh axis '" + long_name +
                                       "' has a name of 32 characters; at most 31 are allowed"));
    BOOST_TEST((mesh_axis{std::string(31, 'x'), 1}.name().size()) == 31u);
}

BOOST_AUTO_TEST_SUITE_END()
