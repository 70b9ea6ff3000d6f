// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/relays.hpp>

#include "support/relay_trees.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <reshard/core/vector.hpp>
#include <utility>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(plan_relays)

namespace {

constexpr std::uint32_t source = relay_step::no_parent;

/// From whom each receiver gets, and how often that was passed on before.
using steps_taken = reshard::vector<std::pair<std::uint32_t, std::uint32_t>>;

steps_taken steps(std::uint32_t count, std::uint32_t branches) {
    steps_taken taken;
    for (std::uint32_t index = 0; index < count; ++index) {
        relay_step const step = step_of(index, count, branches);
        taken.emplace_back(step.parent, step.depth);
    }
    return taken;
}

} // namespace

BOOST_AUTO_TEST_CASE(in_a_chain_each_gets_from_the_one_before) {
    BOOST_TEST((steps(4, 1) == steps_taken{{source, 0}, {0, 1}, {1, 2}, {2, 3}}));
    BOOST_TEST((steps(1, 1) == steps_taken{{source, 0}}));
}

BOOST_AUTO_TEST_CASE(with_two_branches_neighbours_stay_together) {
    // 0 gives to 1 and 4; of 1 to 3, and of 4 to 6, the first gives to the other two.
    BOOST_TEST(
        (steps(7, 2) == steps_taken{{source, 0}, {0, 1}, {1, 2}, {1, 2}, {0, 1}, {4, 2}, {4, 2}}));
    BOOST_TEST((steps(4, 2) == steps_taken{{source, 0}, {0, 1}, {1, 2}, {0, 1}}));
    BOOST_TEST((steps(2, 2) == steps_taken{{source, 0}, {0, 1}}));
}

BOOST_AUTO_TEST_CASE(nobody_passes_to_more_than_the_branches_and_the_depth_is_that_of_the_parent) {
    for (std::uint32_t const branches : {1u, 2u, 3u})
        for (std::uint32_t count = branches; count <= 40; ++count) {
            reshard::vector<std::uint32_t> children(count, 0);
            auto const elements = steps(count, branches);
            for (std::uint32_t index = 1; index < count; ++index) {
                auto const [parent, depth] = elements[index];
                BOOST_TEST_REQUIRE(parent < index);
                BOOST_TEST(depth == elements[parent].second + 1);
                BOOST_TEST(++children[parent] <= branches);
            }
        }
}

BOOST_AUTO_TEST_CASE(children_are_those_that_get_from_their_parent) {
    for (std::uint32_t const branches : {1u, 2u, 3u})
        for (std::uint32_t count = branches; count <= 40; ++count) {
            relay_trees const trees =
                test::tree_of({100, reshard::vector<holder_t>(count, 7), branches});
            relay_tree const tree = trees[0];
            steps_taken const taken = steps(count, branches);
            for (std::uint32_t parent = 0; parent < count; ++parent) {
                reshard::vector<std::uint32_t> expected, children;
                for (std::uint32_t index = 1; index < count; ++index)
                    if (taken[index].first == parent)
                        expected.push_back(index);
                for_each_child(tree, parent,
                               [&](std::uint32_t child) { children.push_back(child); });
                BOOST_TEST(children == expected, boost::test_tools::per_element());
            }
        }
}

BOOST_AUTO_TEST_CASE(many_chunks_go_by_a_chain_and_few_by_two_branches) {
    BOOST_TEST(branches_for(64, 1000) == 1u); // 1063 turns, and 2011 with two branches
    BOOST_TEST(branches_for(64, 1) == 2u);    // 64 turns, and 13
    BOOST_TEST(branches_for(3, 1) == 1u);     // 3 turns, and 3
    BOOST_TEST(branches_for(2, 0) == 1u);
}

BOOST_AUTO_TEST_CASE(a_relay_is_found_by_its_transfer) {
    reshard::vector<relay> const relays{{2, 0, 1, 0, 0}, {5, 0, 2, 0, 2}};
    BOOST_TEST(find_relay(relays, 2) == &relays[0]);
    BOOST_TEST(find_relay(relays, 5) == &relays[1]);
    BOOST_TEST(find_relay(relays, 3) == nullptr);
    BOOST_TEST(find_relay(relays, 6) == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
