// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout.hpp>

#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(shard_layout)

BOOST_AUTO_TEST_CASE(tensors_stand_in_the_order_of_keys_and_shards_in_that_of_holders) {
    layout const layout = layout_of(
        {{{"w", data_type::f32, {4}, {{0}, {2}}, {}}, {"a", data_type::i8, {}, {}, {}}},
         {},
         {{"w", data_type::f32, {4}, {{3}, {1}}, {}}, {"w", data_type::f32, {4}, {{2}, {1}}, {}}}});
    BOOST_TEST(layout.holders == 3u);
    BOOST_TEST_REQUIRE(layout.tensors.size() == 2u);
    BOOST_TEST(layout.tensors[0].key == "a");
    BOOST_TEST(layout.tensors[1].key == "w");
    shard_table const shards = listed(layout.spread_of(layout.tensors[1]));
    BOOST_TEST_REQUIRE(shards.size() == 3u);
    BOOST_TEST((shards.holders() == std::vector<holder_t>{0, 2, 2}));
    BOOST_TEST((shards.region(1) == box{{3}, {1}}));
    BOOST_TEST((shards.region(2) == box{{2}, {1}}));
}

BOOST_AUTO_TEST_CASE(tensors_are_found_by_key) {
    layout const full_layout = layout_of({{{"b", data_type::f32, {4}, {{0}, {4}}, {}}}});
    BOOST_TEST(full_layout.find("b") == &full_layout.tensors[0]);
    BOOST_TEST(full_layout.find("a") == nullptr);
    BOOST_TEST(full_layout.find("c") == nullptr);
    BOOST_TEST(layout{}.find("b") == nullptr);
}

BOOST_AUTO_TEST_CASE(a_shard_gives_its_descriptor_back) {
    shard_descriptor const part{"w", data_type::f32, {4, 6}, {{2, 0}, {2, 6}}, flat_range{1, 3}};
    layout const layout = layout_of({{}, {part}});
    BOOST_TEST((descriptor_of(layout, layout.tensors[0], 0) == part));
}

BOOST_AUTO_TEST_CASE(one_key_with_two_shapes_names_both_ranks) {
    BOOST_CHECK_EXCEPTION(
        layout_of({{},
                   {{"w", data_type::f32, {4}, {{0}, {4}}, {}}},
                   {{"v", data_type::f32, {4}, {{0}, {4}}, {}}},
                   {{"w", data_type::f32, {5}, {{0}, {4}}, {}}}}),
        error,
        says(errc::shape_mismatch, "'w' has the global shape [4] on rank 1 and [5] on rank 3"));
}

BOOST_AUTO_TEST_CASE(one_key_with_two_types_names_both_ranks) {
    BOOST_CHECK_EXCEPTION(layout_of({{{"w", data_type::f32, {4}, {{0}, {4}}, {}}},
                                     {{"w", data_type::f16, {4}, {{0}, {4}}, {}}}}),
                          error,
                          says(errc::dtype_mismatch,
                               "'w' has the data type float32 on rank 0 and float16 on rank 1"));
}

BOOST_AUTO_TEST_CASE(a_shard_that_contradicts_itself_is_refused) {
    BOOST_CHECK_EXCEPTION(
        layout_of({{{"w", data_type::f32, {4}, {{2}, {4}}, {}}}}), error,
        says(errc::bad_layout,
             "'w': axis 0: a shard of 4 elements at offset 2 exceeds the global extent 4"));
}

BOOST_AUTO_TEST_SUITE_END()
