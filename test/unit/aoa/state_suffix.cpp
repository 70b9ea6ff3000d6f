// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/state_suffix.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard::aoa;
using namespace reshard::aoa::detail;

BOOST_AUTO_TEST_SUITE(aoa_state_suffix)

BOOST_AUTO_TEST_CASE(the_endings_of_paddle_are_known) {
    auto const suffixes = default_state_suffixes();
    for (char const* ending : {".w_0", ".moment1_0", ".moment2_0"})
        BOOST_TEST(!state_suffix_of("a.b" + std::string(ending), suffixes)->scalar);
    for (char const* ending : {".beta1_pow_acc_0", ".beta2_pow_acc_0"})
        BOOST_TEST(state_suffix_of("a.b" + std::string(ending), suffixes)->scalar);
}

BOOST_AUTO_TEST_CASE(a_parameter_is_its_own_parameter) {
    auto const suffixes = default_state_suffixes();
    BOOST_TEST(parameter_of("a.b", suffixes) == "a.b");
    BOOST_TEST(parameter_of("a.b.moment1_0", suffixes) == "a.b");
    BOOST_TEST(parameter_of("a.w_0.x", suffixes) == "a.w_0.x");
    BOOST_TEST(parameter_of(".w_0", suffixes) == ".w_0");
    BOOST_TEST(state_suffix_of("a.b", suffixes) == nullptr);
}

BOOST_AUTO_TEST_CASE(other_endings_can_be_named) {
    std::vector<state_suffix> const mine = {{"/m", false}};
    BOOST_TEST(parameter_of("a/m", mine) == "a");
    BOOST_TEST(parameter_of("a.w_0", mine) == "a.w_0");
}

BOOST_AUTO_TEST_SUITE_END()
