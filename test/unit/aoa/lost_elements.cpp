// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/reverse.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::aoa;
using namespace reshard::aoa::detail;

BOOST_AUTO_TEST_SUITE(aoa_lost_elements)

BOOST_AUTO_TEST_CASE(boxes_are_named_with_the_shape_that_they_are_of) {
    catalog_entry const w{"w", data_type::f32, {4, 6}, {1, 1}};
    catalog_entry const removed{"r", data_type::f32, {2}, {1}}, entry{"o", data_type::f32, {}, {}};
    std::vector<loss> losses{{loss::kind::unused, 0, "w", {{{0, 2}, {4, 1}}, {{3, 3}, {1, 3}}}},
                             {loss::kind::removed, 1, "r", {{{0}, {2}}}}};
    BOOST_TEST(lost_elements(losses).describe(w) == "; lost: [0:4, 2:3], [3:4, 3:6] of [4, 6]");
    BOOST_TEST(lost_elements(losses).describe(removed) == "");
    BOOST_TEST(lost_elements(losses).describe(entry) ==
               "; no element is lost, but no reversible statement has all of them");
    losses[0].has_more = true;
    BOOST_TEST(lost_elements(losses).describe(w) ==
               "; lost: [0:4, 2:3], [3:4, 3:6] and more of [4, 6]");
    losses[0] = {loss::kind::rounded, 0,     "w",
                 {{{0, 0}, {4, 6}}},  false, chain_step{data_type::bf16}};
    BOOST_TEST(lost_elements(losses).describe(w) == "; rounded: all of [4, 6]");
}

BOOST_AUTO_TEST_SUITE_END()
