// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/members.hpp>

#include "support/archives.hpp"

#include <reshard/core/flat_range.hpp>
#include <reshard/core/permutation.hpp>
#include <reshard/core/step_chain.hpp>

#include <limits>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(serialization_core)

namespace {

/// `value` as its bytes give it back.
template <class T>
T back(T const& value) {
    return detail::content_from<T>(detail::content_bytes(value), "value");
}

} // namespace

BOOST_AUTO_TEST_CASE(numbers_by_axis_come_back) {
    BOOST_TEST((back(index_vector{}) == index_vector{}));
    BOOST_TEST(
        (back(index_vector{-1, 0, index_t{1} << 62}) == index_vector{-1, 0, index_t{1} << 62}));
    BOOST_TEST((back(index_vector::filled(8, 5)) == index_vector::filled(8, 5)));
    BOOST_TEST((back(box{{1, 2}, {3, 4}}) == box{{1, 2}, {3, 4}}));
    BOOST_TEST((back(flat_range{3, 9}) == flat_range{3, 9}));
}

BOOST_AUTO_TEST_CASE(chains_of_casts_come_back) {
    step_chain const two =
        then(then({}, data_type::f32, data_type::bf16), data_type::f32, data_type::f32);
    BOOST_TEST(two.count == 2);
    BOOST_TEST((back(two) == two));
    BOOST_TEST(back(step_chain{}).empty());
}

BOOST_AUTO_TEST_CASE(orders_of_axes_come_back) {
    permutation const order = permutation::of({2, 0, 1}, 3);
    BOOST_TEST(detail::content_bytes(order) == std::string("\2\1\0\0", 4));
    BOOST_TEST((back(order) == order));
}

BOOST_AUTO_TEST_CASE(a_box_is_sound_where_its_numbers_are_those_of_elements) {
    index_t const most = std::numeric_limits<index_t>::max();
    BOOST_TEST(is_sound({{0, 1}, {0, 2}}));
    BOOST_TEST(is_sound({{most - 2}, {2}}));
    BOOST_TEST(!is_sound({{most - 2}, {3}}));
    BOOST_TEST(!is_sound({{0}, {0, 2}}));
    BOOST_TEST(!is_sound({{-1}, {2}}));
    BOOST_TEST(!is_sound({{0}, {-2}}));
}

BOOST_AUTO_TEST_SUITE_END()
