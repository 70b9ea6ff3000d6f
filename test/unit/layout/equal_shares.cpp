// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/equal_shares.hpp>
#include <reshard/layout/layout.hpp>

#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(shard_equal_shares)

BOOST_AUTO_TEST_CASE(a_column_of_a_tensor_parallel_weight) {
    shard_descriptor const expected{"w", data_type::bf16, {4, 24}, {{0, 16}, {4, 8}}, {}};
    BOOST_TEST((equal_shares("w", data_type::bf16, {4, 8}, {{1, 2, 3}}) == expected));
}

BOOST_AUTO_TEST_CASE(one_share_of_one_is_the_tensor) {
    shard_descriptor const expected{"w", data_type::f32, {4, 8}, {{0, 0}, {4, 8}}, {}};
    BOOST_TEST((equal_shares("w", data_type::f32, {4, 8}, {{0, 0, 1}}) == expected));
}

BOOST_AUTO_TEST_CASE(without_shares_it_is_a_replica) {
    shard_descriptor const expected{"w", data_type::f32, {4, 8}, {{0, 0}, {4, 8}}, {}};
    BOOST_TEST((equal_shares("w", data_type::f32, {4, 8}, {}) == expected));
    BOOST_TEST((equal_shares("s", data_type::f32, {}, {}).region == box{}));
}

BOOST_AUTO_TEST_CASE(a_replicated_tensor_is_whole_everywhere) {
    shard_descriptor const expected{"w", data_type::f32, {4, 8}, {{0, 0}, {4, 8}}, {}};
    BOOST_TEST((replicated("w", data_type::f32, {4, 8}) == expected));
    BOOST_CHECK_EXCEPTION(
        replicated("w", data_type::f32, {4, -8}), error,
        says(errc::bad_layout,
             "'w': axis 1: a shard of -8 elements at offset 0 exceeds the global extent -8"));
}

BOOST_AUTO_TEST_CASE(a_rank_of_a_mesh_has_the_share_of_its_coordinate) {
    // Rank 5 of pp=2 tp=3 is at pp 1, tp 2.
    mesh const ranks{{"pp", 2}, {"tp", 3}};
    shard_descriptor const expected{"w", data_type::bf16, {4, 24}, {{0, 16}, {4, 8}}, {}};
    BOOST_TEST(
        (equal_shares("w", data_type::bf16, {4, 8}, {axis_share(ranks, 5, "tp", 1)}) == expected));
    BOOST_CHECK_EXCEPTION(axis_share(ranks, 5, "dp", 1), error,
                          says(errc::bad_layout, "the mesh has no axis 'dp', only 'pp', 'tp'"));
}

BOOST_AUTO_TEST_CASE(a_rank_beyond_the_mesh_has_no_share) {
    mesh const ranks{{"pp", 2}, {"tp", 3}};
    BOOST_TEST(axis_share(ranks, 5, "pp", 0).index == 1);
    BOOST_CHECK_EXCEPTION(
        axis_share(ranks, 6, "tp", 1), error,
        says(errc::bad_layout, "rank 6 is outside the mesh pp=2 tp=3, which has 6 ranks"));
    BOOST_CHECK_EXCEPTION(
        axis_share({{"tp", 1}}, 1, "tp", 0), error,
        says(errc::bad_layout, "rank 1 is outside the mesh tp=1, which has 1 rank"));
}

BOOST_AUTO_TEST_CASE(shares_along_two_axes_make_a_grid) {
    shard_descriptor const expected{"w", data_type::f32, {8, 24}, {{4, 8}, {4, 8}}, {}};
    BOOST_TEST((equal_shares("w", data_type::f32, {4, 8}, {{0, 1, 2}, {1, 1, 3}}) == expected));
}

BOOST_AUTO_TEST_CASE(an_axis_that_is_not_there_names_axis_and_shape) {
    BOOST_CHECK_EXCEPTION(equal_shares("w", data_type::f32, {4, 8}, {{2, 0, 2}}), error,
                          says(errc::shape_mismatch, "'w': axis 2 is out of range for a tensor of "
                                                     "shape [4, 8]"));
}

BOOST_AUTO_TEST_CASE(a_share_that_is_not_one_of_them_is_refused) {
    BOOST_CHECK_EXCEPTION(equal_shares("w", data_type::f32, {4}, {{0, 2, 2}}), error,
                          says(errc::bad_layout,
                               "'w': axis 0: share 2 of 2 does not exist; shares are numbered "
                               "from 0"));
    BOOST_CHECK_EXCEPTION(equal_shares("w", data_type::f32, {4}, {{0, -1, 2}}), error,
                          says(errc::bad_layout,
                               "'w': axis 0: share -1 of 2 does not exist; shares are numbered "
                               "from 0"));
    BOOST_CHECK_EXCEPTION(equal_shares("w", data_type::f32, {4}, {{0, 0, -2}}), error,
                          says(errc::bad_layout,
                               "'w': axis 0: share 0 of -2 does not exist; shares are numbered "
                               "from 0"));
    BOOST_CHECK_EXCEPTION(equal_shares("w", data_type::f32, {4}, {{0, 0, 2}, {0, 1, 2}}), error,
                          says(errc::bad_layout, "'w': two shares are given along axis 0"));
}

BOOST_AUTO_TEST_CASE(too_many_shares_overflow) {
    BOOST_CHECK_EXCEPTION(
        equal_shares("w", data_type::f32, {4294967296}, {{0, 0, 4294967296}}), error,
        says(errc::overflow,
             "'w': axis 0: 4294967296 shares of 4294967296 elements do not fit in 64 bits"));
}

BOOST_AUTO_TEST_CASE(a_negative_extent_is_refused) {
    BOOST_CHECK_EXCEPTION(equal_shares("w", data_type::f32, {8, -4}, {{1, 0, 2}}), error,
                          says(errc::bad_layout, "'w': axis 1 has the extent -4"));
}

BOOST_AUTO_TEST_CASE(shares_that_are_not_equal_are_found_when_they_meet) {
    BOOST_CHECK_EXCEPTION(layout_of({{equal_shares("w", data_type::f32, {3}, {{0, 0, 2}})},
                                     {equal_shares("w", data_type::f32, {2}, {{0, 1, 2}})}}),
                          error,
                          says(errc::shape_mismatch, "'w' has the global shape [6] on rank 0 and "
                                                     "[4] on rank 1"));
}

BOOST_AUTO_TEST_SUITE_END()
