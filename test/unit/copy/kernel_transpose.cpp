// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/kernel_transpose.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(transposes_of_matrices)

namespace {

template <class T>
void transposes(index_t rows, index_t columns, bool streaming) {
    constexpr index_t size = sizeof(T);
    std::vector<T> source(static_cast<std::size_t>(rows * columns));
    for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<T>(i * 2654435761u);
    std::vector<T> target(source.size());
    detail::copy_transposed<sizeof(T)>(
        {{columns, rows}, 0, {size, columns * size}, 0, {rows * size, size}},
        {reinterpret_cast<unsigned char const*>(source.data()),
         reinterpret_cast<unsigned char*>(target.data()), streaming});
    bool is_right = true;
    for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < columns; ++j)
            is_right = is_right && target[static_cast<std::size_t>(j * rows + i)] ==
                                       source[static_cast<std::size_t>(i * columns + j)];
    BOOST_TEST(is_right, rows << " x " << columns << ", elements of " << size << " bytes");
}

} // namespace

BOOST_AUTO_TEST_CASE(matrices_of_every_kind_are_transposed) {
    for (bool const streaming : {false, true})
        for (auto const& [rows, columns] : {std::pair<index_t, index_t>{1, 1},
                                            {2, 3},
                                            {64, 64},
                                            {65, 130},
                                            {256, 640},
                                            {33, 2500}}) {
            transposes<std::uint8_t>(rows, columns, streaming);
            transposes<std::uint16_t>(rows, columns, streaming);
            transposes<std::uint32_t>(rows, columns, streaming);
            transposes<std::uint64_t>(rows, columns, streaming);
        }
}

BOOST_AUTO_TEST_SUITE_END()
