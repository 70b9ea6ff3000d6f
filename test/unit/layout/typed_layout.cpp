// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed_layout.hpp>

#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/typed_facts.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_typed_layout)

using job = typed::layout<
    mesh{{"pp", 2}, {"tp", 2}}, typed::tensor<"up", float, index_vector{6, 4}, only{1}, shard{0}>,
    typed::tensor<"down", bfloat16, index_vector{4, 7}, replicate{}, shard{1, {3, 4}}>>;

BOOST_AUTO_TEST_CASE(a_typed_layout_converts_to_the_layout_of_all_ranks) {
    layout const whole_job = job();
    // Made by hand, rank by rank.
    layout const expected = layout_of({
        {{"down", data_type::bf16, {4, 7}, {{0, 0}, {4, 3}}, {}}},
        {{"down", data_type::bf16, {4, 7}, {{0, 3}, {4, 4}}, {}}},
        {{"up", data_type::f32, {6, 4}, {{0, 0}, {3, 4}}, {}},
         {"down", data_type::bf16, {4, 7}, {{0, 0}, {4, 3}}, {}}},
        {{"up", data_type::f32, {6, 4}, {{3, 0}, {3, 4}}, {}},
         {"down", data_type::bf16, {4, 7}, {{0, 3}, {4, 4}}, {}}},
    });
    BOOST_TEST((listed(whole_job) == expected));
}

BOOST_AUTO_TEST_CASE(a_rank_known_at_run_time_has_its_descriptors) {
    vector<shard_descriptor> const rank_1{{"down", data_type::bf16, {4, 7}, {{0, 3}, {4, 4}}, {}}};
    vector<shard_descriptor> const rank_2{{"up", data_type::f32, {6, 4}, {{0, 0}, {3, 4}}, {}},
                                          {"down", data_type::bf16, {4, 7}, {{0, 0}, {4, 3}}, {}}};
    BOOST_TEST((descriptors_of<job>(1) == rank_1));
    BOOST_TEST((descriptors_of<job>(2) == rank_2));
}

BOOST_AUTO_TEST_CASE(a_rank_known_at_compile_time_has_the_same) {
    vector<shard_descriptor> const rank_2 = typed::state_dict_of<job, 2>();
    BOOST_TEST((rank_2 == descriptors_of<job>(2)));
}

// Blocks that are dealt out and strided shards are those of an untyped layout.
BOOST_AUTO_TEST_CASE(blocks_and_strided_shards_are_as_untyped) {
    using dealt_out = typed::layout<
        mesh{{"dp", 2}, {"tp", 2}},
        typed::tensor<"blocks", float, index_vector{11, 7}, block_cyclic{0, 2},
                      block_cyclic{1, 3, 1}>,
        typed::tensor<"strided", double, index_vector{10, 3}, strided_shard{0}, shard{0}>>;
    static_assert(typed::is_covered<dealt_out> && !typed::has_equal_shards<dealt_out>);
    mesh const ranks{{"dp", 2}, {"tp", 2}};
    layout const expected = layout_of(
        {sharding_of("blocks", data_type::f32,
                     distribution(ranks, {block_cyclic{0, 2}, block_cyclic{1, 3, 1}}, {11, 7})),
         sharding_of("strided", data_type::f64,
                     distribution(ranks, {strided_shard{0}, shard{0}}, {10, 3}))});
    BOOST_TEST((layout(dealt_out()) == expected));
    BOOST_TEST((descriptors_of<dealt_out>(3) == shards_of(expected, 3)));
    // Rank 3 has the rows 2, 3, 6, 7 and 10, and the columns 0 to 2 and 6.
    BOOST_TEST((local_shape(descriptors_of<dealt_out>(3)[0]) == index_vector{5, 4}));
}

// Slices, of a buffer or not, and listed ranks too.
BOOST_AUTO_TEST_CASE(slices_and_listed_ranks_are_as_untyped) {
    using spread = typed::layout<
        typed::rank_mesh({{"dp", 2}, {"tp", 2}}, {5, 0, 1, 3}),
        typed::tensor<"slices", float, index_vector{5, 6}, typed::flat_share{}, shard{1}>,
        typed::tensor<"buffer", float, index_vector{7}, typed::flat_share{3, 6}, replicate{}>>;
    static_assert(typed::is_covered<spread> && !typed::has_equal_shards<spread>);
    rank_mesh const ranks({{"dp", 2}, {"tp", 2}}, {5, 0, 1, 3});
    layout const expected = layout_of(
        {sharding_of("slices", data_type::f32, distribution(ranks, {replicate{}, shard{1}}, {5, 6}),
                     flat_sharing{1, {}}),
         sharding_of("buffer", data_type::f32, distribution(ranks, {replicate{}, replicate{}}, {7}),
                     flat_sharing{1, flat_slices{3, 6}})});
    BOOST_TEST((layout(spread()) == expected));
    // Rank 3 is at dp 1, tp 1: elements 8 to 14 of the columns 3 to 5, and from 3 on of the buffer.
    shard_descriptor const slice{
        "slices", data_type::f32, {5, 6}, {{0, 3}, {5, 3}}, flat_range{8, 15}};
    shard_descriptor const rest{"buffer", data_type::f32, {7}, {{0}, {7}}, flat_range{3, 7}};
    BOOST_TEST((descriptors_of<spread>(3) == std::vector{slice, rest}));
    vector<shard_descriptor> const by_type = typed::state_dict_of<spread, 3>();
    BOOST_TEST((by_type == std::vector{slice, rest}));
    BOOST_TEST(descriptors_of<spread>(2).empty());
    BOOST_TEST((typed::state_dict_of<spread, 2>::size == 0));
}

BOOST_AUTO_TEST_SUITE_END()
