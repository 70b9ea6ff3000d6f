// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/vectors.hpp>

#include <reshard/copy/copy_elements.hpp>

#include "vector_sets.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(copy_transpose_tile)

namespace {

/// Turns one square out of a matrix of numbers with `gap` elements after each row, from an address
/// that is not aligned; returns the number of wrong elements of the target, including the ones
/// around the square.
template <class Element>
int wrong_elements(detail::vector_set vectors, index_t gap, bool streaming) {
    constexpr index_t side = detail::square_side(sizeof(Element));
    index_t const pitch = side + gap;
    std::vector<Element> source(static_cast<std::size_t>(side * pitch + 1));
    for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<Element>(i * 2654435761u);
    constexpr index_t target_pitch = 2 * side;
    alignas(64) Element target[static_cast<std::size_t>(side * target_pitch)];
    std::memset(target, 0xaa, sizeof target);
    Element untouched;
    std::memset(&untouched, 0xaa, sizeof untouched);
    constexpr index_t size = sizeof(Element);
    detail::square_transpose(sizeof(Element), vectors)(
        {reinterpret_cast<unsigned char const*>(source.data() + 1), pitch * size},
        {reinterpret_cast<unsigned char*>(target + side), target_pitch * size}, streaming);
    detail::streaming_fence();
    int wrong = 0;
    for (index_t i = 0; i < side; ++i)
        for (index_t j = 0; j < target_pitch; ++j) {
            Element const wanted =
                j < side ? untouched : source[static_cast<std::size_t>(1 + (j - side) * pitch + i)];
            wrong += target[i * target_pitch + j] != wanted;
        }
    return wrong;
}

/// True if a matrix, turned as asked into rows `skew` bytes after a line of the cache, equals the
/// result of a loop over its elements, and nothing else is written.
bool is_turned(data_type dtype, index_vector const& extent, index_t gap, index_t skew,
               stores stores) {
    index_t const size = byte_count(1, dtype);
    index_t const source_pitch = extent[0] + gap, target_pitch = (extent[1] + 63) / 64 * 64;
    std::vector<std::byte> source(static_cast<std::size_t>(extent[1] * source_pitch * size));
    for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<std::byte>(i * 131 + i / 251);
    struct alignas(64) line {
        std::byte bytes[64];
    };
    std::vector<line> memory(static_cast<std::size_t>(extent[0] * target_pitch * size / 64) + 1);
    std::vector<std::byte> wanted(memory.size() * 64);
    for (index_t i = 0; i < extent[0]; ++i)
        for (index_t j = 0; j < extent[1]; ++j)
            std::copy_n(source.begin() + (i + j * source_pitch) * size, size,
                        wanted.begin() + skew + (i * target_pitch + j) * size);
    std::byte* const target = memory.data()->bytes;
    run(prepare({extent, 0, {1, source_pitch}, 0, {target_pitch, 1}}, {dtype, {}}, stores),
        source.data(), target + skew);
    return std::equal(wanted.begin(), wanted.end(), target);
}

using elements = std::tuple<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(a_square_is_turned_and_nothing_else_is_written, Element, elements) {
    for (detail::vector_set const vectors : test::vector_sets())
        if (detail::square_transpose(sizeof(Element), vectors))
            for (index_t const gap : {0, 1, 7})
                BOOST_TEST((wrong_elements<Element>(vectors, gap, true) +
                            wrong_elements<Element>(vectors, gap, false)) == 0,
                           sizeof(Element) << " bytes"
                                           << " with " << test::text(vectors));
    BOOST_TEST(!detail::square_transpose(sizeof(Element), detail::vector_set::none));
}

BOOST_AUTO_TEST_CASE(whole_matrices_are_turned_whatever_the_stores) {
    for (data_type const dtype : {data_type::f64, data_type::f32, data_type::bf16, data_type::u8})
        for (index_vector const& extent :
             {index_vector{16, 16}, {64, 64}, {65, 70}, {8, 200}, {300, 3}, {128, 129}})
            for (index_t const gap : {0, 5})
                for (index_t const skew : {0, 8})
                    for (stores const stores : {stores::cached, stores::streaming})
                        BOOST_TEST(is_turned(dtype, extent, gap, skew, stores),
                                   name(dtype) << " " << to_string(extent) << " " << gap << " "
                                               << skew << " " << (stores == stores::streaming));
}

BOOST_AUTO_TEST_SUITE_END()
