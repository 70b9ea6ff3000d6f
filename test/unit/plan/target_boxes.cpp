// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/target_boxes.hpp>

#include "support/layouts.hpp"

#include <reshard/layout/layout_of.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(plan_target_boxes)

namespace {

/// Rows over two ranks, each half held twice: by ranks 0 and 2, and by 1 and 3.
layout halves_twice() {
    return layout_of(
        {sharding_of("w", data_type::f32,
                     distribution(mesh({{"dp", 2}, {"tp", 2}}), {replicate{}, shard{0}}, {4, 3}))});
}

std::vector<std::uint32_t> equal_to(layout const& layout, std::uint32_t shard) {
    std::vector<std::uint32_t> shards;
    target_boxes const boxes(layout.shards_of(layout.tensors[0]));
    boxes.for_each_holder(boxes.number(shard, 0),
                          [&](shard_part shard_part) { shards.push_back(shard_part.shard); });
    return shards;
}

} // namespace

BOOST_AUTO_TEST_CASE(shards_with_one_box_are_equal_computed_and_listed) {
    for (layout const& layout : {halves_twice(), listed(halves_twice())}) {
        BOOST_TEST((equal_to(layout, 0) == std::vector<std::uint32_t>{0, 2}));
        BOOST_TEST((equal_to(layout, 2) == std::vector<std::uint32_t>{0, 2}));
        BOOST_TEST((equal_to(layout, 3) == std::vector<std::uint32_t>{1, 3}));
    }
}

BOOST_AUTO_TEST_CASE(each_part_of_a_flat_range_has_a_box) {
    // Elements 1 to 6 of 4 x 3: two of row 0, row 1, one of row 2. Others want the ones of row 1
    // and 2.
    box const region{{0, 0}, {4, 3}};
    test::whole_problem const problem({{test::part("w", {4, 3}, region)}},
                                      {{test::part("w", {4, 3}, region, flat_range{1, 7})},
                                       {test::part("w", {4, 3}, {{2, 0}, {1, 1}})},
                                       {test::part("w", {4, 3}, {{1, 0}, {1, 3}})}});
    plan_problem const planned = problem();
    target_boxes const boxes(planned.targets[0].shards);
    BOOST_TEST(boxes.number(0, 0) != boxes.number(0, 1));
    BOOST_TEST(boxes.number(0, 1) == boxes.number(2, 0));
    BOOST_TEST(boxes.number(0, 2) == boxes.number(1, 0));
    BOOST_TEST(boxes.number(0, 3) == target_boxes::none);
}

BOOST_AUTO_TEST_CASE(a_shard_of_many_blocks_is_one_box) {
    shard_descriptor const dealt{"w", data_type::f32, {8}, {{0}, {6}}, {}, {{0, 2, 4}}};
    test::whole_problem const problem(
        {{test::part("w", {8}, {{0}, {8}})}},
        {{dealt}, {test::part("w", {8}, {{0}, {6}})}, {dealt}, {test::part("w", {8}, {{0}, {2}})}});
    plan_problem const planned = problem();
    target_boxes const boxes(planned.targets[0].shards);
    std::vector<std::uint32_t> holders;
    boxes.for_each_holder(boxes.number(0, 0),
                          [&](shard_part part) { holders.push_back(part.shard); });
    BOOST_TEST((holders == std::vector<std::uint32_t>{0, 2}));
}

BOOST_AUTO_TEST_SUITE_END()
