// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/pattern_plan.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(plan_pattern_plan)

namespace {

placed_cut cut_at(std::uint32_t shard, std::uint8_t part, index_vector const& offset) {
    return {{{}, {7, 7}, offset, {1, 1}}, {3, 4, shard, part}};
}

} // namespace

BOOST_AUTO_TEST_CASE(cuts_are_sorted_by_shard_then_part_then_place) {
    placed_pattern pattern(2);
    for (placed_cut const& cut :
         {cut_at(1, 0, {0, 0}), cut_at(0, 1, {0, 0}), cut_at(0, 0, {2, 1}), cut_at(0, 0, {1, 5})})
        pattern.push_back(cut);
    pattern.sort();
    BOOST_TEST_REQUIRE(pattern.size() == 4u);
    BOOST_TEST((pattern[0].geometry.target_offset == index_vector{1, 5}));
    BOOST_TEST((pattern[1].geometry.target_offset == index_vector{2, 1}));
    BOOST_TEST((pattern.place(2) == cut_place{3, 4, 0, 1}));
    BOOST_TEST((pattern.place(3) == cut_place{3, 4, 1, 0}));
}

BOOST_AUTO_TEST_CASE(cuts_that_come_in_order_stay) {
    placed_pattern pattern(2);
    pattern.push_back(cut_at(0, 0, {1, 5}));
    pattern.push_back(cut_at(0, 0, {2, 1}));
    pattern.push_back(cut_at(2, 0, {0, 0}));
    pattern.sort();
    BOOST_TEST((pattern[0].geometry.target_offset == index_vector{1, 5}));
    BOOST_TEST((pattern[2].geometry.target_box() == box{{0, 0}, {1, 1}}));
    BOOST_TEST(pattern.geometry().size() == 3u);
    BOOST_TEST(pattern.bytes() >= 3 * sizeof(cut_place));
}

BOOST_AUTO_TEST_SUITE_END()
