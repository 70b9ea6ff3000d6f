// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/conversions.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <random>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(copy_element_scales)

namespace {

index_t below(std::mt19937& random, index_t bound) {
    return static_cast<index_t>(random()) % bound;
}

} // namespace

// A shard of a matrix that begins at `first` of a tensor, with its axes in memory in either order and
// gaps between them. The scale of element (i, j) is looked up by its index.
BOOST_AUTO_TEST_CASE(each_position_has_the_scale_of_its_block_along_any_loop) {
    std::mt19937 random(3);
    for (int trial = 0; trial < 400; ++trial) {
        index_t const extent[2] = {below(random, 9) + 1, below(random, 9) + 1};
        index_t const first[2] = {below(random, 7), below(random, 7)};
        index_t const block[2] = {below(random, 5), below(random, 5)};
        index_t const columns = 20;
        bool const is_turned = below(random, 2) == 1;
        index_t const inner = below(random, 3) + 1, offset = below(random, 4);
        index_t const outer = inner * extent[is_turned ? 0 : 1] + below(random, 3);
        index_t const stride[2] = {is_turned ? inner : outer, is_turned ? outer : inner};

        std::vector<float> values(400);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(i);
        element_scales scales;
        for (std::size_t const axis : {is_turned ? 1u : 0u, is_turned ? 0u : 1u})
            if (extent[axis] > 1)
                scales.memory.push_back({stride[axis], extent[axis], axis, 1});
        scales.axes.push_back({first[0], block[0], columns});
        scales.axes.push_back({first[1], block[1], 1});
        scales.offset = -offset;
        scales.values = values.data();
        auto const wanted = [&](index_t i, index_t j) {
            index_t const row = block[0] == 0 ? 0 : (first[0] + i) / block[0];
            index_t const column = block[1] == 0 ? 0 : (first[1] + j) / block[1];
            return static_cast<float>(row * columns + column);
        };
        auto const position = [&](index_t i, index_t j) {
            return offset + i * stride[0] + j * stride[1];
        };
        std::vector<float> found(9);
        for (index_t i = 0; i < extent[0]; ++i)
            for (int const direction : {1, -1, 2}) {
                index_t const begin = direction < 0 ? extent[1] - 1 : 0;
                index_t const count = direction == 2 ? (extent[1] + 1) / 2 : extent[1];
                scales.fill(position(i, begin), direction * stride[1], count, found.data());
                for (index_t k = 0; k < count; ++k)
                    BOOST_TEST(found[static_cast<std::size_t>(k)] ==
                               wanted(i, begin + k * direction));
            }
        for (index_t j = 0; j < extent[1]; ++j) {
            scales.fill(position(0, j), stride[0], extent[0], found.data());
            for (index_t k = 0; k < extent[0]; ++k)
                BOOST_TEST(found[static_cast<std::size_t>(k)] == wanted(k, j));
        }
        scales.fill(position(0, 0), 0, 3, found.data()); // an element that is repeated
        for (std::size_t k = 0; k < 3; ++k)
            BOOST_TEST(found[k] == wanted(0, 0));
    }
}

// Rows without gaps are one run of memory, so a loop goes from row to row.
BOOST_AUTO_TEST_CASE(a_run_over_several_rows_changes_its_scales_with_the_row) {
    std::vector<float> const values{1, 2, 3, 4};
    element_scales scales;
    scales.memory = {{5, 4, 0, 1}, {1, 5, 1, 1}};
    scales.axes = {{0, 2, 2}, {0, 3, 1}};
    scales.values = values.data();
    std::vector<float> found(17);
    scales.fill(3, 1, 17, found.data());
    std::vector<float> const wanted{2, 2, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 3, 3, 3, 4, 4};
    BOOST_TEST(found == wanted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
