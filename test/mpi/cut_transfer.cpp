// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/cut_transfer.hpp>

#include "oracle/random.hpp"
#include "support/trials.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(mpi_cut_transfer)

namespace {

using boxes = std::vector<box>;

/// A cut of that extent, in the target's order of axes; target axis `j` is source axis `order[j]`.
cut cut_with(index_vector const& extent, index_vector const& order) {
    index_vector const zeros = index_vector::filled(extent.size(), 0);
    return {permutation::of(order, extent.size()), zeros, zeros, extent};
}

boxes pieces(cut const& geometry, index_t limit) {
    boxes all_boxes;
    detail::cut_transfer(geometry, limit, [&](box const& region) { all_boxes.push_back(region); });
    return all_boxes;
}

/// How often each element is in a piece; all of them once is right.
bool are_all_once(boxes const& parts, index_vector const& extent) {
    std::map<index_t, int> visited;
    for (box const& part : parts)
        for (index_t i = 0; i < element_count(part.shape); ++i) {
            index_vector at = unravel_index(i, part.shape);
            for (std::size_t axis = 0; axis < at.size(); ++axis)
                at[axis] += part.offset[axis];
            ++visited[ravel_index(at, extent)];
        }
    for (auto const& [element, count] : visited)
        if (count != 1)
            return false;
    return static_cast<index_t>(visited.size()) == element_count(extent);
}

} // namespace

BOOST_AUTO_TEST_CASE(what_keeps_its_order_is_cut_into_rows) {
    BOOST_TEST((pieces(cut_with({5, 3}, {0, 1}), 6) ==
                boxes{{{0, 0}, {2, 3}}, {{2, 0}, {2, 3}}, {{4, 0}, {1, 3}}}));
}

BOOST_AUTO_TEST_CASE(what_is_transposed_is_cut_into_squares) {
    // 16 elements: four by four, and what is left at the ends.
    BOOST_TEST((pieces(cut_with({5, 6}, {1, 0}), 16) ==
                boxes{{{0, 0}, {4, 4}}, {{0, 4}, {4, 2}}, {{4, 0}, {1, 4}}, {{4, 4}, {1, 2}}}));
    // Where one side is short, the other one is longer.
    BOOST_TEST((pieces(cut_with({20, 2}, {1, 0}), 16) ==
                boxes{{{0, 0}, {8, 2}}, {{8, 0}, {8, 2}}, {{16, 0}, {4, 2}}}));
}

BOOST_AUTO_TEST_CASE(axes_of_one_element_do_not_count) {
    BOOST_TEST((pieces(cut_with({1, 8, 1}, {2, 1, 0}), 4) ==
                boxes{{{0, 0, 0}, {1, 4, 1}}, {{0, 4, 0}, {1, 4, 1}}}));
    BOOST_TEST((pieces(cut_with({4, 1, 4}, {2, 1, 0}), 4) == boxes{{{0, 0, 0}, {2, 1, 2}},
                                                                   {{0, 0, 2}, {2, 1, 2}},
                                                                   {{2, 0, 0}, {2, 1, 2}},
                                                                   {{2, 0, 2}, {2, 1, 2}}}));
}

BOOST_AUTO_TEST_CASE(scalars_and_nothing_are_one_piece) {
    BOOST_TEST((pieces(cut_with({}, {}), 4) == boxes{{{}, {}}}));
    BOOST_TEST((pieces(cut_with({0, 3}, {1, 0}), 4) == boxes{{{0, 0}, {0, 3}}}));
}

BOOST_AUTO_TEST_CASE(pieces_are_small_enough_and_have_each_element_once) {
    for (std::uint64_t seed = 0; seed < test::trials(500); ++seed) {
        oracle::random_numbers random(seed);
        std::vector<index_t> axes;
        index_vector extent, order;
        for (index_t axis = random.between(0, 3); axis >= 0; --axis)
            axes.push_back(axis);
        random.shuffle(axes);
        for (index_t const axis : axes) {
            order.push_back(axis);
            extent.push_back(random.between(1, 9));
        }
        index_t const limit = random.between(1, 40);
        boxes const all_boxes = pieces(cut_with(extent, order), limit);
        for (box const& part : all_boxes)
            BOOST_TEST(element_count(part.shape) <= limit, "seed " << seed);
        BOOST_TEST(are_all_once(all_boxes, extent), "seed " << seed);
    }
}

BOOST_AUTO_TEST_SUITE_END()
