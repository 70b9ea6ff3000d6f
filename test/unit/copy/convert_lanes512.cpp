// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/convert_lanes512.hpp>

#include "vector_checks.hpp"

using namespace reshard;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(convert_lanes512_tests)

BOOST_AUTO_TEST_CASE(rows_of_every_length_at_every_place_are_written_and_nothing_else) {
    check_rows(detail::vector_set::avx512);
}

BOOST_AUTO_TEST_CASE(long_rows_are_written_whole) { check_long_rows(detail::vector_set::avx512); }

BOOST_AUTO_TEST_CASE(squares_are_turned_and_converted_and_nothing_else_is_written) {
    check_squares(detail::vector_set::avx512);
}

BOOST_AUTO_TEST_SUITE_END()
