// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/cut_loop.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <utility>
#include <vector>

/// \file
/// Loops cut into windows: nothing is lost, and each part stays in its window.

namespace {

using namespace reshard;
using namespace reshard::detail;

using pair_of_places = std::pair<index_t, index_t>;

void add_places(std::vector<pair_of_places>& places, affine_copy const& loop, std::size_t axis = 0,
                index_t source = 0, index_t target = 0) {
    if (axis == loop.ndim())
        return places.emplace_back(loop.source_offset + source, loop.target_offset + target),
               void();
    for (index_t i = 0; i < loop.extent[axis]; ++i)
        add_places(places, loop, axis + 1, source + i * loop.source_strides[axis],
                   target + i * loop.target_strides[axis]);
}

std::vector<pair_of_places> places(affine_copy const& loop) {
    std::vector<pair_of_places> places;
    add_places(places, loop);
    return places;
}

std::vector<affine_copy> const loops = {
    {{}, 5, {}, 7, {}},                                 // one element
    {{0}, 5, {1}, 7, {1}},                              // none
    {{40}, 3, {1}, 0, {1}},                             // dense
    {{6, 5}, 2, {9, 1}, 0, {5, 1}},                     // columns
    {{5, 6}, 0, {1, 5}, 0, {6, 1}},                     // transposed
    {{3, 1, 4, 2}, 11, {40, 7, 8, 3}, 1, {8, 1, 2, 1}}, // holes
    {{4, 6}, 60, {-13, 2}, 0, {6, 1}},                  // backwards
    {{4, 6}, 2, {0, 3}, 0, {6, 1}},                     // each source several times
};

void check_cut(affine_copy const& loop, loop_side side, index_t window) {
    std::vector<pair_of_places> found_places;
    cut_to_windows(loop, side, window, [&](index_t number, affine_copy const& part) {
        loop_span const span = span_of(part, side);
        BOOST_TEST(span.first >= number * window);
        BOOST_TEST(span.end <= (number + 1) * window);
        add_places(found_places, part);
    });
    auto expected = places(loop);
    std::sort(expected.begin(), expected.end());
    std::sort(found_places.begin(), found_places.end());
    BOOST_TEST((found_places == expected));
}

} // namespace

BOOST_AUTO_TEST_SUITE(copy_cut_loop)

BOOST_AUTO_TEST_CASE(parts_are_all_of_a_loop_each_in_its_window) {
    for (affine_copy const& loop : loops)
        for (index_t const window : {1, 2, 3, 7, 10, 64, 1000}) {
            check_cut(loop, source_of_loop, window);
            check_cut(loop, target_of_loop, window);
        }
}

BOOST_AUTO_TEST_CASE(rows_stay_together_where_they_fit) {
    std::vector<index_vector> extents;
    cut_to_windows({{6, 4}, 2, {4, 1}, 0, {4, 1}}, source_of_loop, 10,
                   [&](index_t, affine_copy const& part) { extents.push_back(part.extent); });
    // 2-9 | 10-13 14-17, 18 19 | 20 21, 22-25
    BOOST_TEST((extents == std::vector<index_vector>{{2, 4}, {2, 4}, {1, 2}, {1, 2}, {1, 4}}));
}

BOOST_AUTO_TEST_CASE(parts_of_a_row_major_loop_come_in_its_order) {
    std::vector<pair_of_places> places;
    cut_to_windows({{7, 5}, 0, {9, 1}, 0, {5, 1}}, source_of_loop, 12,
                   [&](index_t, affine_copy const& part) { add_places(places, part); });
    BOOST_TEST(std::is_sorted(places.begin(), places.end()));
}

BOOST_AUTO_TEST_CASE(the_bytes_of_a_side_are_those_from_its_first_to_its_last_element) {
    struct {
        affine_copy loop;
        data_type dtype;
        index_t first, bytes, offset;
    } const cases[] = {
        {{{}, 7, {}, 0, {}}, data_type::f32, 28, 4, 0},
        {{{2, 2}, 1, {10, 1}, 0, {2, 1}}, data_type::f32, 4, 48, 0}, // elements 1 to 12
        {{{3}, 5, {-2}, 0, {1}}, data_type::u8, 1, 5, 4},            // 5, 3, 1
        {{{3}, 3, {1}, 0, {1}}, data_type::f4, 1, 2, 1},             // half of byte 1, and byte 2
        {{{2}, -2, {4}, 0, {1}}, data_type::bf16, -4, 10, 0},
    };
    for (auto const& [loop, dtype, first, bytes, offset] : cases) {
        byte_range const range = byte_range_of(loop, source_of_loop, dtype);
        BOOST_TEST(range.first == first);
        BOOST_TEST(range.bytes == bytes);
        BOOST_TEST(range.offset == offset);
    }
}

BOOST_AUTO_TEST_SUITE_END()
