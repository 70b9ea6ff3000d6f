// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/model/parallelism.hpp>
#include <reshard/model/rank_group.hpp>

#include "support/says.hpp"

#include <vector>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_rank_group)

namespace {

using rank_vector = std::vector<holder_t>;

} // namespace

BOOST_AUTO_TEST_CASE(groups_are_those_of_the_documentation_of_megatron) {
    // 16 ranks, 2 tensor parallel, 4 stages: the example in Megatron's initialize_model_parallel.
    mesh const ranks = dense_mesh({.tp = 2, .dp = 2, .pp = 4});
    BOOST_TEST((group_of(ranks, 3, axes_named(ranks, {"tp"})) == rank_vector{2, 3}));
    BOOST_TEST((group_of(ranks, 6, axes_named(ranks, {"pp"})) == rank_vector{2, 6, 10, 14}));
    BOOST_TEST((group_of(ranks, 5, axes_named(ranks, {"dp"})) == rank_vector{5, 7}));
    BOOST_TEST((group_of(ranks, 5, axes_named(ranks, {"dp", "tp"})) == rank_vector{4, 5, 6, 7}));
    BOOST_TEST((group_of(ranks, 5, axes_named(ranks, {})) == rank_vector{5}));
}

BOOST_AUTO_TEST_CASE(a_rank_knows_its_coordinates) {
    mesh const ranks = dense_mesh({.tp = 2, .cp = 3, .dp = 2, .pp = 2});
    BOOST_TEST(coordinate_of(ranks, 2 * 3 * 2 + 2, "cp") == 1);
    BOOST_TEST(coordinate_of(ranks, 2 * 3 * 2 + 2, "pp") == 1);
}

BOOST_AUTO_TEST_CASE(a_small_group_of_a_huge_mesh_is_found_at_once) {
    mesh const ranks = dense_mesh({.tp = 8, .dp = 1 << 20, .pp = 16});
    BOOST_TEST(group_of(ranks, 12345678, axes_named(ranks, {"pp"})).size() == 16);
}

BOOST_AUTO_TEST_CASE(an_axis_splits_and_joins_without_moving_a_rank) {
    mesh const ranks{{"pp", 2}, {"tp", 6}, {"cp", 2}};
    mesh const split = split_axis(ranks, "tp", 3, "copy");
    BOOST_TEST(to_string(split) == "pp=2 tp=3 copy=2 cp=2");
    BOOST_TEST(to_string(join_axes(split, "tp", "tp")) == "pp=2 tp=6 cp=2");
    BOOST_TEST((join_axes(split, "tp", "tp") == ranks));
    for (holder_t rank = 0; rank < 24; ++rank)
        BOOST_TEST(coordinate_of(ranks, rank, "tp") ==
                   2 * coordinate_of(split, rank, "tp") + coordinate_of(split, rank, "copy"));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_split_or_joined_is_refused) {
    mesh const ranks{{"pp", 2}, {"tp", 6}};
    BOOST_CHECK_EXCEPTION(
        split_axis(ranks, "tp", 4, "copy"), error,
        test::says(errc::bad_layout,
                   "mesh axis 'tp' of 6 ranks cannot be split into 4 equal groups"));
    BOOST_CHECK_EXCEPTION(
        split_axis(ranks, "tp", 0, "copy"), error,
        test::says(errc::bad_layout,
                   "mesh axis 'tp' of 6 ranks cannot be split into 0 equal groups"));
    BOOST_CHECK_EXCEPTION(
        join_axes(ranks, "tp", "x"), error,
        test::says(errc::bad_layout, "the mesh pp=2 tp=6 has no axis after 'tp' to join it with"));
    BOOST_CHECK_EXCEPTION(
        axes_named(ranks, {"dp"}), error,
        test::says(errc::bad_layout, "the mesh has no axis 'dp', only 'pp', 'tp'"));
}

BOOST_AUTO_TEST_SUITE_END()
