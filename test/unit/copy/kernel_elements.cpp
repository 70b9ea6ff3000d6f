// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/kernel_elements.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(elements)

BOOST_AUTO_TEST_CASE(squares_or_lines_cover_two_axes_and_loops_the_rest) {
    // target[a][i][j] = source[a + 2 * (y * i + x * j)], with 40 by 33 elements of 2 bytes, twice
    std::vector<std::uint16_t> source(2 * 40 * 99);
    for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<std::uint16_t>(i);
    for (auto const& [y, x] : {std::pair(3, 1), std::pair(1, 41)}) {
        std::vector<std::uint16_t> target(2 * 40 * 33);
        detail::copy_strided({{2, 40, 33}, 0, {2, 4 * y, 4 * x}, 0, {2640, 66, 2}}, 2,
                             {reinterpret_cast<unsigned char const*>(source.data()),
                              reinterpret_cast<unsigned char*>(target.data()), false});
        for (int a = 0; a < 2; ++a)
            for (int i = 0; i < 40; ++i)
                for (int j = 0; j < 33; ++j)
                    BOOST_TEST_REQUIRE(target[static_cast<std::size_t>((a * 40 + i) * 33 + j)] ==
                                       a + 2 * (y * i + x * j));
    }
}

BOOST_AUTO_TEST_CASE(one_element_is_repeated_by_a_stride_of_zero) {
    double const source = 4.5;
    std::vector<double> target(6);
    detail::copy_strided({{2, 3}, 0, {0, 0}, 0, {24, 8}}, 8,
                         {reinterpret_cast<unsigned char const*>(&source),
                          reinterpret_cast<unsigned char*>(target.data()), false});
    BOOST_TEST((target == std::vector<double>(6, 4.5)));
}

BOOST_AUTO_TEST_SUITE_END()
