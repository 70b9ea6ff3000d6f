// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/kernel_elements.hpp>

#include "vector_sets.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(transposes_of_matrices)

namespace {

template <class T>
void transposes(detail::vector_set vectors, index_t rows, index_t columns, bool streaming) {
    constexpr index_t size = sizeof(T);
    std::vector<T> source(static_cast<std::size_t>(rows * columns));
    for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<T>(i * 2654435761u);
    std::vector<T> memory(source.size() + 64 / sizeof(T)); // of which a part begins at a line
    T* const target = memory.data() + detail::bytes_to_line(memory.data()) / sizeof(T);
    detail::copy_transposed({{columns, rows}, 0, {size, columns * size}, 0, {rows * size, size}},
                            size,
                            {reinterpret_cast<unsigned char const*>(source.data()),
                             reinterpret_cast<unsigned char*>(target), streaming},
                            vectors);
    bool is_right = true;
    for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < columns; ++j)
            is_right = is_right &&
                       target[j * rows + i] == source[static_cast<std::size_t>(i * columns + j)];
    BOOST_TEST(is_right, rows << " x " << columns << ", elements of " << size << " bytes with "
                              << test::text(vectors));
}

} // namespace

BOOST_AUTO_TEST_CASE(matrices_of_every_kind_are_transposed) {
    for (detail::vector_set const vectors : test::vector_sets())
        for (bool const streaming : {false, true})
            for (auto const& [rows, columns] : {std::pair<index_t, index_t>{1, 1},
                                                {2, 3},
                                                {64, 64},
                                                {65, 130},
                                                {256, 640},
                                                {33, 2500}}) {
                transposes<std::uint8_t>(vectors, rows, columns, streaming);
                transposes<std::uint16_t>(vectors, rows, columns, streaming);
                transposes<std::uint32_t>(vectors, rows, columns, streaming);
                transposes<std::uint64_t>(vectors, rows, columns, streaming);
            }
}

BOOST_AUTO_TEST_SUITE_END()
