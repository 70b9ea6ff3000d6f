// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/macro/macros.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace reshard;
using kind = aoa::name::kind_type;

BOOST_AUTO_TEST_SUITE(aoa_repeated_name)

BOOST_AUTO_TEST_CASE(the_second_of_two_equal_names_is_found) {
    std::vector<aoa::name> const names{{kind::text, false, 3, {0, 1}},
                                       {kind::text, false, 4, {2, 3}},
                                       {kind::text, false, 3, {4, 5}},
                                       {kind::text, false, 4, {6, 7}}};
    BOOST_TEST(aoa::detail::repeated_name(names) == &names[2]);
    BOOST_TEST(aoa::detail::repeated_name(std::span(names).first(2)) == nullptr);
    BOOST_TEST(aoa::detail::repeated_name(std::span(names).first(1)) == nullptr);
    BOOST_TEST(aoa::detail::repeated_name({}) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_text_and_a_temporary_of_one_number_differ) {
    std::vector<aoa::name> const names{{kind::text, false, 3, {}}, {kind::fresh, false, 3, {}}};
    BOOST_TEST(aoa::detail::repeated_name(names) == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
