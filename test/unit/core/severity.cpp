// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/error.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(core_severity)

BOOST_AUTO_TEST_CASE(each_severity_has_a_word) {
    BOOST_TEST(name_of(severity::note) == "note");
    BOOST_TEST(name_of(severity::warning) == "warning");
    BOOST_TEST(name_of(severity::error) == "error");
}

BOOST_AUTO_TEST_CASE(an_error_is_the_worst) {
    BOOST_TEST((severity::note < severity::warning));
    BOOST_TEST((severity::warning < severity::error));
}

BOOST_AUTO_TEST_SUITE_END()
