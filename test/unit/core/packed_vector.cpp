// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/index_vector.hpp>

#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(core_packed_vector)

BOOST_AUTO_TEST_CASE(it_is_an_index_vector_and_back) {
    for (index_vector const& numbers :
         {index_vector{}, index_vector{7}, index_vector{1, 2, 3, 4, 5, 6, 7, 8}}) {
        packed_vector const packed = numbers;
        BOOST_TEST(packed.size() == numbers.size());
        BOOST_TEST(packed.empty() == numbers.empty());
        BOOST_TEST((index_vector(packed) == numbers));
        BOOST_TEST((packed == numbers));
        BOOST_TEST((numbers == packed));
    }
}

BOOST_AUTO_TEST_CASE(its_numbers_may_be_changed) {
    packed_vector shape{2, 3, 4};
    packed_vector const before = shape;
    shape[2] = 9;
    BOOST_TEST((shape == index_vector{2, 3, 9}));
    BOOST_TEST((shape != before));
    BOOST_TEST((before == packed_vector{2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(a_beginning_is_not_the_whole) {
    BOOST_TEST((packed_vector{2} != packed_vector{2, 3}));
    BOOST_TEST((packed_vector{2} != index_vector{2, 3}));
}

BOOST_AUTO_TEST_CASE(nine_axes_are_too_many) {
    auto const nine = [] { return packed_vector{1, 2, 3, 4, 5, 6, 7, 8, 9}; };
    BOOST_CHECK_EXCEPTION(nine(), error,
                          says(errc::limit_exceeded, "a tensor has more than 8 axes"));
}

BOOST_AUTO_TEST_SUITE_END()
