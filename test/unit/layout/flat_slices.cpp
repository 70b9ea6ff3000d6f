// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/flat_range.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_flat_slices)

namespace {

/// The elements of `part` by their row-major numbers, one after the other.
std::vector<index_t> positions_one_by_one(box const& part, index_vector const& shape) {
    std::vector<index_t> matches;
    for (auto at = next_position(part, 0, shape); at; at = next_position(part, *at + 1, shape))
        matches.push_back(*at);
    return matches;
}

} // namespace

BOOST_AUTO_TEST_CASE(positions_of_a_box_are_found_in_order) {
    using list = std::vector<index_t>;
    // Of 3 x 4 elements, rows 1 and 2 of columns 1 and 2.
    BOOST_TEST((positions_one_by_one({{1, 1}, {2, 2}}, {3, 4}) == list{5, 6, 9, 10}));
    BOOST_TEST((positions_one_by_one({{0, 1, 1}, {2, 1, 1}}, {2, 2, 2}) == list{3, 7}));
    BOOST_TEST((positions_one_by_one({{1, 0, 1}, {1, 2, 1}}, {2, 2, 2}) == list{5, 7}));
    BOOST_TEST(positions_one_by_one({{1, 1}, {0, 2}}, {3, 4}).empty());
    BOOST_TEST((positions_one_by_one({}, {}) == list{0}));
}

BOOST_AUTO_TEST_CASE(the_next_position_jumps_over_what_is_not_in_the_box) {
    BOOST_TEST((next_position({{1, 1}, {2, 2}}, 7, {3, 4}) == index_t{9}));
    BOOST_TEST((next_position({{1, 1}, {2, 2}}, 0, {3, 4}) == index_t{5}));
    BOOST_TEST(!next_position({{1, 1}, {2, 2}}, 11, {3, 4}));
}

BOOST_AUTO_TEST_CASE(slices_of_a_padded_buffer_end_with_the_tensor) {
    // ZeRO-3: 10 elements over 4 ranks are 3, 3, 3 and 1; over 3 ranks of 2 elements 1, 1, 0.
    flat_slices const ten = padded_slices(10, 4);
    BOOST_TEST((ten == flat_slices{0, 3}));
    BOOST_TEST((range_of(ten, 10, 2) == flat_range{6, 9}));
    BOOST_TEST((range_of(ten, 10, 3) == flat_range{9, 10}));
    BOOST_TEST((range_of(padded_slices(2, 3), 2, 2) == flat_range{2, 2}));
    BOOST_TEST((range_of(padded_slices(0, 3), 0, 1) == flat_range{0, 0}));
}

BOOST_AUTO_TEST_CASE(padding_behind_a_tensor_is_not_its_own) {
    // 5 elements, padded to 8, in a buffer that is cut at 6: rank 0 has all, rank 1 nothing.
    flat_slices const cut{0, 6};
    BOOST_TEST((range_of(cut, 5, 0) == flat_range{0, 5}));
    BOOST_TEST((range_of(cut, 5, 1).size() == 0));
    BOOST_TEST(slice_of(cut, 4) == 0);
}

BOOST_AUTO_TEST_CASE(a_tensor_in_the_middle_of_a_buffer_straddles_slices) {
    flat_slices const cut{10, 8}; // elements 10 to 30 of a buffer cut at 8, 16, 24, 32
    BOOST_TEST((range_of(cut, 20, 0) == flat_range{0, 0}));
    BOOST_TEST((range_of(cut, 20, 1) == flat_range{0, 6}));
    BOOST_TEST((range_of(cut, 20, 2) == flat_range{6, 14}));
    BOOST_TEST((range_of(cut, 20, 3) == flat_range{14, 20}));
    BOOST_TEST((range_of(cut, 20, 4) == flat_range{20, 20}));
    BOOST_TEST(slice_of(cut, 5) == 1);
    BOOST_TEST(slice_of(cut, 6) == 2);
}

BOOST_AUTO_TEST_SUITE_END()
