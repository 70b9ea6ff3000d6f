// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/row_batch.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(local_copy_table)

BOOST_AUTO_TEST_CASE(equal_copies_are_made_ready_once) {
    copy_table copies;
    affine_copy const turned{{2, 3}, 0, {1, 2}, 0, {3, 1}};
    affine_copy const straight{{2, 3}, 0, {3, 1}, 0, {3, 1}};
    element_conversion const none{data_type::f32, {}};
    BOOST_TEST(copies.add(turned, none, stores::cached) == 0u);
    BOOST_TEST(copies.add(straight, none, stores::cached) == 1u);
    BOOST_TEST(copies.add(turned, none, stores::cached) == 0u);
    BOOST_TEST(copies.add(turned, {data_type::f64, {}}, stores::cached) == 2u);
    BOOST_TEST(copies.add(turned, none, stores::streaming) == 3u);
    BOOST_TEST(copies.size() == 4u);
}

BOOST_AUTO_TEST_SUITE_END()
