// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/axis_joins.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(core_axis_joins)

BOOST_AUTO_TEST_CASE(without_joins_each_factor_is_an_axis) {
    BOOST_TEST((detail::joined_extents({2, 3, 4}, 0) == index_vector{2, 3, 4}));
    BOOST_TEST((detail::joined_offset({1, 2, 3}, {2, 3, 4}, 0) == index_vector{1, 2, 3}));
    BOOST_TEST((factor_strides({12, 4, 1}, {2, 3, 4}, 0) == index_vector{12, 4, 1}));
    BOOST_TEST(!axis_joins{}.any());
}

BOOST_AUTO_TEST_CASE(joined_factors_are_the_digits_of_one_axis) {
    // axes of 2 and of 3 x 4
    BOOST_TEST((detail::joined_extents({2, 3, 4}, 0b100) == index_vector{2, 12}));
    BOOST_TEST((detail::joined_offset({1, 2, 3}, {2, 3, 4}, 0b100) == index_vector{1, 11}));
    BOOST_TEST((factor_strides({100, 5}, {2, 3, 4}, 0b100) == index_vector{100, 20, 5}));
    // one axis of all three
    BOOST_TEST((detail::joined_extents({2, 3, 4}, 0b110) == index_vector{24}));
    BOOST_TEST((detail::joined_offset({1, 2, 3}, {2, 3, 4}, 0b110) == index_vector{23}));
    BOOST_TEST((factor_strides({2}, {2, 3, 4}, 0b110) == index_vector{24, 8, 2}));
}

BOOST_AUTO_TEST_CASE(factors_of_a_scalar_are_no_axis) {
    BOOST_TEST((detail::joined_extents({1, 1}, 0b11) == index_vector{}));
    BOOST_TEST((detail::joined_offset({0, 0}, {1, 1}, 0b11) == index_vector{}));
    BOOST_TEST((factor_strides({}, {1, 1}, 0b11) == index_vector{0, 0}));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(core_axis_joins)

namespace {

void check_factors(index_vector const& before, index_vector const& after,
                   detail::common_factors const& wanted) {
    auto const factors = detail::factors_of(before, after);
    BOOST_TEST_REQUIRE(factors.has_value());
    BOOST_TEST((factors->extent == wanted.extent), to_string(factors->extent));
    BOOST_TEST(int{factors->before} == int{wanted.before});
    BOOST_TEST(int{factors->after} == int{wanted.after});
}

} // namespace

BOOST_AUTO_TEST_CASE(axes_that_are_merged_are_the_factors) {
    check_factors({2, 3}, {6}, {{2, 3}, 0, 0b10});
    check_factors({5, 2, 3}, {10, 3}, {{5, 2, 3}, 0, 0b010});
    check_factors({4, 3}, {12}, {{4, 3}, 0, 0b10});
}

BOOST_AUTO_TEST_CASE(axes_that_are_split_are_the_factors) {
    check_factors({6}, {2, 3}, {{2, 3}, 0b10, 0});
    check_factors({6, 5}, {3, 2, 5}, {{3, 2, 5}, 0b010, 0});
}

BOOST_AUTO_TEST_CASE(both_at_once_have_factors_of_both) {
    check_factors({4, 3}, {2, 6}, {{2, 2, 3}, 0b010, 0b100});
    check_factors({2, 6}, {4, 3}, {{2, 2, 3}, 0b100, 0b010});
}

BOOST_AUTO_TEST_CASE(axes_of_one_element_come_and_go) {
    check_factors({6}, {6, 1}, {{6, 1}, 0b10, 0});
    check_factors({2, 1, 3}, {2, 3}, {{2, 1, 3}, 0, 0b010});
    check_factors({6}, {1, 6}, {{1, 6}, 0b10, 0}); // the first one is counted in the axis after it
    check_factors({1, 6}, {6}, {{1, 6}, 0, 0b10});
}

BOOST_AUTO_TEST_CASE(a_scalar_has_factors_of_one) {
    check_factors({}, {}, {{}, 0, 0});
    check_factors({}, {1, 1}, {{1, 1}, 0b11, 0});
    check_factors({1}, {}, {{1}, 0, 0b1});
}

BOOST_AUTO_TEST_CASE(extents_that_do_not_divide_have_no_common_factors) {
    BOOST_TEST(!detail::factors_of({2, 3}, {3, 2}).has_value());
    BOOST_TEST(!detail::factors_of({5, 4, 6}, {5, 6, 4}).has_value());
}

BOOST_AUTO_TEST_CASE(such_axes_meet_where_both_end) {
    BOOST_TEST((detail::merged_shape({2, 3}, {3, 2}) == index_vector{6}));
    BOOST_TEST((detail::merged_shape({5, 4, 6}, {5, 6, 4}) == index_vector{5, 24}));
    BOOST_TEST((detail::merged_shape({2, 3, 7}, {3, 2, 7}) == index_vector{6, 7}));
}

BOOST_AUTO_TEST_SUITE_END()
