// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/permutation.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(permutations)

BOOST_AUTO_TEST_CASE(an_axis_of_the_result_is_the_one_that_the_order_names) {
    auto const order = permutation::of({2, 0, 1}, 3);
    BOOST_TEST(order[0] == 2u);
    BOOST_TEST((order.apply({10, 20, 30}) == index_vector{30, 10, 20}));
    BOOST_TEST((order.undo({30, 10, 20}) == index_vector{10, 20, 30}));
    BOOST_TEST((axes_of(order, 3) == index_vector{2, 0, 1}));
}

BOOST_AUTO_TEST_CASE(the_identity_changes_nothing_and_twice_reversed_neither) {
    index_vector const shape{1, 2, 3, 4, 5, 6, 7, 8};
    BOOST_TEST((permutation::identity(8).apply(shape) == shape));
    auto const reversed = permutation::reversed(8);
    BOOST_TEST((reversed.apply(shape) == index_vector{8, 7, 6, 5, 4, 3, 2, 1}));
    BOOST_TEST((reversed.then(reversed, 8) == permutation::identity(8)));
    BOOST_TEST((permutation::identity(0).apply({}) == index_vector{}));
}

BOOST_AUTO_TEST_CASE(one_order_after_another_is_an_order) {
    auto const first = permutation::of({1, 2, 0}, 3);
    auto const second = permutation::of({0, 2, 1}, 3);
    index_vector const shape{10, 20, 30};
    BOOST_TEST((first.then(second, 3).apply(shape) == index_vector{20, 10, 30}));
    BOOST_TEST((second.apply(first.apply(shape)) == index_vector{20, 10, 30}));
}

BOOST_AUTO_TEST_CASE(each_axis_must_be_named_once) {
    auto const names_the_axes = [](error const& problem) {
        return problem.code() == errc::shape_mismatch &&
               std::string(problem.what()).find("3 axes") != std::string::npos;
    };
    BOOST_CHECK_EXCEPTION(permutation::of({0, 1}, 3), error, names_the_axes);
    BOOST_CHECK_EXCEPTION(permutation::of({0, 1, 1}, 3), error, names_the_axes);
    BOOST_CHECK_EXCEPTION(permutation::of({0, 1, 3}, 3), error, names_the_axes);
    BOOST_CHECK_EXCEPTION(permutation::of({0, 1, -1}, 3), error, names_the_axes);
}

BOOST_AUTO_TEST_SUITE_END()
