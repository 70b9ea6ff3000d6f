// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_typed)

using left = typed::shard<"w", bfloat16, index_vector{4, 6}, box{{0, 0}, {4, 3}}>;
using right = typed::shard<"w", bfloat16, index_vector{4, 6}, box{{0, 3}, {4, 3}}>;

BOOST_AUTO_TEST_CASE(a_typed_shard_converts_to_its_descriptor) {
    shard_descriptor const shard = right();
    BOOST_TEST((shard == shard_descriptor{"w", data_type::bf16, {4, 6}, {{0, 3}, {4, 3}}, {}}));
}

BOOST_AUTO_TEST_CASE(a_typed_flat_shard_keeps_its_range) {
    shard_descriptor const shard = typed::flat_shard<right, flat_range{5, 12}>();
    BOOST_TEST((shard == shard_descriptor{
                             "w", data_type::bf16, {4, 6}, {{0, 3}, {4, 3}}, flat_range{5, 12}}));
    BOOST_TEST((local_shape(shard) == index_vector{7}));
}

BOOST_AUTO_TEST_CASE(a_typed_state_dict_converts_to_descriptors_in_order) {
    using scale =
        typed::shard<"scale", data_type_constant<data_type::f8_e8m0>, index_vector{}, box{}>;
    vector<shard_descriptor> const shards = typed::state_dict<right, scale, left>();
    vector<shard_descriptor> const expected{
        {"w", data_type::bf16, {4, 6}, {{0, 3}, {4, 3}}, {}},
        {"scale", data_type::f8_e8m0, {}, {}, {}},
        {"w", data_type::bf16, {4, 6}, {{0, 0}, {4, 3}}, {}},
    };
    BOOST_TEST((shards == expected));
    BOOST_TEST(typed::state_dict<>::descriptors().empty());
}

BOOST_AUTO_TEST_SUITE_END()
